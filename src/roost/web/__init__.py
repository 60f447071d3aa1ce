"""HTTP API and the live page: what people and programs see of a node (`docs/http.md`)."""
