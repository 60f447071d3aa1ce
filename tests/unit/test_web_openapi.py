"""The API's document is one: valid OpenAPI 3.1, every operation with what a reader needs, every example as it says."""

from __future__ import annotations

import re
from typing import Any

import pytest
from aiohttp.test_utils import make_mocked_request
from jsonschema import Draft202012Validator
from openapi_spec_validator import OpenAPIV31SpecValidator

from roost.web.openapi import document
from roost.web.scopes import needed

DOCUMENT: dict[str, Any] = document()
OPERATIONS = [(method, path, each) for path, item in DOCUMENT["paths"].items() for method, each in item.items()]


def test_it_is_openapi_3_1() -> None:
    assert not [f"{list(error.path)}: {error.message}" for error in OpenAPIV31SpecValidator(DOCUMENT).iter_errors()]


def test_operations_have_names_of_their_own() -> None:
    names = [each["operationId"] for _, _, each in OPERATIONS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize(("method", "path", "operation"), OPERATIONS, ids=[f"{m} {p}" for m, p, _ in OPERATIONS])
def test_an_operation_says_what_it_takes_and_gives(method: str, path: str, operation: dict[str, Any]) -> None:
    assert not operation["summary"].endswith(".")
    assert set(operation["tags"]) <= {each["name"] for each in DOCUMENT["tags"]}
    parts = {each["name"] for each in operation.get("parameters", []) if each["in"] == "path"}
    assert parts == set(re.findall(r"{(\w+)}", path))
    assert ("requestBody" in operation) == (method in {"post", "put"})
    scope = needed(make_mocked_request(method.upper(), path))
    assert operation.get("description", "") == (f"A token needs the scope `{scope}`." if scope else "")
    assert ("security" in operation) == (scope is None or (path == "/session" and method != "get"))
    if method in {"post", "put"}:
        body = operation["requestBody"]["content"]["application/json"]
        schema = body["schema"] | {"components": DOCUMENT["components"]}
        Draft202012Validator(schema).validate(body["examples"]["one"]["value"])


def test_examples_of_answers_are_as_their_schemas_say() -> None:
    seen = 0
    for _, path, operation in OPERATIONS:
        for status, answered in operation["responses"].items():
            for form in answered.get("content", {}).values():
                for example in form.get("examples", {}).values():
                    schema = form["schema"] | {"components": DOCUMENT["components"]}
                    mistakes = [each.message for each in Draft202012Validator(schema).iter_errors(example["value"])]
                    assert not mistakes, (path, status)
                    seen += 1
    assert seen >= 7
