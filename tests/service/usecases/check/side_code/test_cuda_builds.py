"""Changed CUDA sources are compiled on each side, by the nvcc on PATH."""

import os
import sys
import sysconfig
from pathlib import Path

import pytest

from perfledger.records import Side

pytestmark = pytest.mark.slow

SETUP = """
import os, subprocess
from setuptools import Extension, setup
from setuptools.command.build_ext import build_ext

class Cuda(build_ext):
    def build_extension(self, ext):
        target = self.get_ext_fullpath(ext.name)
        os.makedirs(os.path.dirname(target), exist_ok=True)
        subprocess.run(["nvcc", "-o", target, *ext.sources], check=True)

setup(name="mypkg", version="1", packages=["mypkg"], package_dir={"": "python"},
      ext_modules=[Extension("mypkg.late", ["csrc/late.cu"])], cmdclass={"build_ext": Cuda})
"""
SOURCE = """
#include <Python.h>
static PyObject *work(PyObject *self, PyObject *unused) { return PyLong_FromLong(%d); }
static PyMethodDef methods[] = {{"work", work, METH_NOARGS, ""}, {NULL, NULL, 0, NULL}};
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, "late", NULL, -1, methods};
PyMODINIT_FUNC PyInit_late(void) { return PyModule_Create(&module); }
"""
# Compiles the C that is in our sources for CUDA, and notes its words.
NVCC = """#!/bin/sh
echo "$@" >> "{log}"
exec cc -shared -fPIC -I"{include}" -o "$2" -x c "$3"
"""


@pytest.mark.slow(ci_only=True)
def test_changed_cuda_sources_are_compiled_on_each_side_without_a_setting(
    project, require_system, tmp_path
):
    require_system("cc", package="gcc")
    log, nvcc = tmp_path / "calls", tmp_path / "bin" / "nvcc"
    nvcc.parent.mkdir()
    nvcc.write_text(NVCC.format(log=log, include=sysconfig.get_path("include")))
    nvcc.chmod(0o755)
    mine = project()
    mine.variables["PIP_NO_BUILD_ISOLATION"] = "0"  # the name says the opposite of the value
    folders = (nvcc.parent, Path(sys.executable).parent, os.environ["PATH"])
    mine.variables["PATH"] = os.pathsep.join(map(str, folders))
    mine.write("setup.py", SETUP)
    mine.change("csrc/late.cu", SOURCE % 1, SOURCE % 3)

    runs, failures, (note,) = mine.measure()

    assert failures == ()
    assert note.startswith("csrc/late.cu changed: each side ran in a separate environment")
    assert len(log.read_text().splitlines()) == len(Side)
    digests = {
        each.digest
        for side in Side
        for package in runs[side].packages
        for each in package.compiled
        if package.name == "mypkg"
    }
    assert len(digests) == len(Side)
