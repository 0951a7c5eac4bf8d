def test_what_is_not_known_is_listed_once_with_a_way_to_know_it(make_review):
    unknowns = make_review().unknowns

    assert len(set(unknowns)) == len(unknowns)
    assert {"queue waits" in one.name for one in unknowns} == {True, False}
    assert all(one.reason and one.remedy for one in unknowns)
