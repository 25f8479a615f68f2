"""A stand-in for torchvision: timm needs only names from it, unless images are
transformed. An installed torchvision takes precedence."""
import importlib.abc
import importlib.machinery
import sys
import types


class AnyName(type):
    def __getattr__(cls, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return name


class Absent(types.ModuleType):
    __path__ = []

    def __getattr__(self, name):
        if name.startswith("__"):
            raise AttributeError(name)
        return AnyName(name, (), {})


class AbsentFinder(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    def find_spec(self, name, path, target=None):
        if name.split(".")[0] == "torchvision":
            return importlib.machinery.ModuleSpec(name, self, is_package=True)
        return None

    def create_module(self, spec):
        return Absent(spec.name)

    def exec_module(self, module):
        pass


def install():
    if not any(isinstance(finder, AbsentFinder) for finder in sys.meta_path):
        sys.meta_path.append(AbsentFinder())
