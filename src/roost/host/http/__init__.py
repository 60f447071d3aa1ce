"""The HTTP door of a node: macros, role-based publishing, the past and the present of topics, as JSON.

`door` listens and lets in, `gate` says who may; each of the others is one kind of thing. `docs/http.md` has the routes.
"""
