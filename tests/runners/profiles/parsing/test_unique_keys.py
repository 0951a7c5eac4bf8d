import json

import pytest

from perfledger_profiles.parsing.unique_keys import object_of_unique_keys


def read(text):
    return json.loads(text, object_pairs_hook=object_of_unique_keys)


def test_objects_keep_their_fields_in_order():
    assert list(read('{"b": {"c": 1}, "a": []}').items()) == [("b", {"c": 1}), ("a", [])]


def test_a_key_that_is_there_twice_is_named_and_cut():
    with pytest.raises(ValueError, match=r"the key 'b' is a duplicate"):
        read('{"a": {"b": 1, "b": 1}}')
    long = "k" * 81
    with pytest.raises(ValueError, match=r"the key 'k{80}' is"):
        read(f'{{"{long}": 1, "{long}": 2}}')
