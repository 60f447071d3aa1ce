"""A repo of a group: what it takes in, keeps, tells, answers and fetches from others, around one shelf."""
