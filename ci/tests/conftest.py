"""Loads the scripts of ci/, which have no suffix, as modules."""

import importlib.machinery
import importlib.util
import pathlib
import sys
import types

CI = pathlib.Path(__file__).resolve().parent.parent


def load(name: str) -> types.ModuleType:
    """The script ci/NAME as a module."""
    module_name = f"ci_{name.replace('-', '_')}"
    loader = importlib.machinery.SourceFileLoader(module_name, str(CI / name))
    spec = importlib.util.spec_from_loader(module_name, loader)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[module_name] = module
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module
