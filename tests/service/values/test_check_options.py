from perfledger.bundle import LaidOverFiles
from perfledger_service.values.check_options import CheckOptions


def test_the_options_of_a_bundle_are_its_settings_and_what_was_laid_over(make_bundle):
    bundle = make_bundle(
        settings={"build": "make", "isolated": True, "suite": "asv", "device": "cpu"},
        laid_over=LaidOverFiles(source="my work", files={}),
    )

    assert CheckOptions.of_bundle(bundle) == CheckOptions(
        workloads_from="my work", suite="asv", device="cpu", build="make", is_isolated=True
    )


def test_a_bundle_without_settings_has_no_options(make_bundle):
    assert CheckOptions.of_bundle(make_bundle(settings={})) == CheckOptions()
