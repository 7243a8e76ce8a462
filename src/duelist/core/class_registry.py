"""Classes by name: built-in ones, those of other packages, and any class as `module:Class`.

A class that the caller names as `module:Class` is imported, and registered for this process. A name in data (a stored
study, an archive, a snapshot, a request) is looked up among registered classes only: data never causes an import.
"""

from __future__ import annotations

import os
from collections.abc import Mapping
from importlib import import_module
from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar

from duelist.core.errors import InvalidInput
from duelist.core.settings import choose_from, normalize_name

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

T = TypeVar("T")


class ClassRegistry(Generic[T]):
    """Finds the subclasses of one base class by name. Case, dashes and underscores are ignored.

    Parameters
    ----------
    base
        The class whose subclasses are found.
    builtin
        The built-in classes by name.
    group
        The group of entry points under which other packages register theirs.
    field
        What such a class is called in errors, such as "policy".
    variable
        An environment variable that registers classes, as `module:Class`, comma-separated.
    """

    def __init__(self, base: Any, builtin: Mapping[str, type[T]], group: str, field: str, variable: str = "") -> None:
        self.base: Final[Any] = base
        self.builtin: Final = builtin
        self.group: Final = group
        self.field: Final = field
        self.variable: Final = variable
        self._registered: Final[dict[str, type[T]]] = {}

    def plugins(self) -> dict[str, EntryPoint]:
        """Return the entry points of other packages by name, except names of built-in classes."""
        from importlib.metadata import entry_points  # slow, and not needed for built-in classes

        return {point.name: point for point in entry_points(group=self.group) if point.name not in self.builtin}

    def names(self) -> list[str]:
        """Return the names of all classes that are registered."""
        return [*self.builtin, *self.plugins()]

    def find(self, name: str) -> type[T]:
        """Return the class that the caller names: registered, or `module:Class`, which is imported and registered."""
        found = self.find_registered(name)
        if found is None and ":" in name:
            return self.register(self._check(name, self._import(name)))
        return self.registered(name) if found is None else found

    def registered(self, name: str) -> type[T]:
        """Return the registered class that data names; import nothing but what packages and the variable register."""
        found = self.find_registered(name)
        if found is not None:
            return found
        if "(" in name:
            spelled = name.replace("(", ":", 1).removesuffix(")")
            raise self._error(f"{name!r}", f"Write settings after a colon: {spelled}.")
        if ":" not in name:
            known = choose_from(name, self.names()).removesuffix(".")
            raise self._error(f"{name!r}", f"{known}, or name a class as module:Class.")
        raise InvalidInput(
            f"The {self.field} {name!r} is not registered, and duelist imports no module that data names.",
            f"If you trust this class, pass it as {self.field}=..."
            + (f", or set the environment variable {self.variable}={name}." if self.variable else "."),
            code="invalid_input.class_not_registered",
            field=self.field,
            name=name,
            variable=self.variable,
        )

    def find_registered(self, name: str) -> type[T] | None:
        """Return the registered class with that name, or None."""
        builtin = {normalize_name(key): cls for key, cls in self.builtin.items()}.get(normalize_name(name))
        if builtin is not None:
            return builtin
        plugin = {normalize_name(key): point for key, point in self.plugins().items()}.get(normalize_name(name))
        if plugin is not None:
            return self._check(name, self._load(plugin))
        listed = os.environ.get(self.variable, "").replace(" ", "").split(",")
        if ":" in name and name not in self._registered and name in listed:
            self.register(self._check(name, self._import(name)))
        return self._registered.get(name)

    def register(self, cls: type[T]) -> type[T]:
        """Register a class under `module:Class` for this process."""
        self._registered[f"{cls.__module__}:{cls.__qualname__}"] = cls
        return cls

    def name_of(self, cls: type[T]) -> str:
        """Return the name by which `find` returns a class."""
        if self.builtin.get(cls.__name__) is cls:
            return cls.__name__
        for known, point in self.plugins().items():
            if point.value == f"{cls.__module__}:{cls.__qualname__}":
                return known
        if "<locals>" in cls.__qualname__ or cls.__module__ == "__main__":
            raise InvalidInput(
                f"{cls.__name__} cannot be found again by name: it is defined in "
                f"{'a function' if '<locals>' in cls.__qualname__ else 'the program itself'}.",
                "Move it to the top level of an importable module.",
            )
        return f"{cls.__module__}:{cls.__qualname__}"

    def split(self, spec: str) -> tuple[str, str]:
        """Return name and settings of NAME:settings; the name of an imported class contains a colon."""
        name, _, rest = spec.partition(":")
        own, _, text = rest.partition(":")
        if rest and own.isidentifier() and normalize_name(name) not in map(normalize_name, self.names()):
            return f"{name}:{own}", text
        return name, rest

    def _import(self, name: str) -> Any:
        module, _, path = name.partition(":")
        try:
            found: Any = import_module(module)
            for part in path.split("."):
                found = getattr(found, part)
        except ModuleNotFoundError as error:
            if error.name is None or not f"{module}.".startswith(f"{error.name}."):
                raise  # the module exists; one of its imports does not
            raise self._error(
                f"{name!r}, but there is no module {error.name!r}", "Install it, or put its folder on the path."
            ) from None
        except (AttributeError, ValueError) as error:
            raise self._error(f"{name!r}, but {error}", "Write module:Class.") from None
        return found

    def _load(self, point: EntryPoint) -> Any:
        try:
            return point.load()
        except (ImportError, AttributeError) as error:
            raise InvalidInput(
                f"{self.field.capitalize()} {point.name!r} is brought by {point.value!r}, which cannot be loaded: "
                f"{error}.",
                "Reinstall the package that brings it.",
            ) from error

    def _check(self, name: str, found: Any) -> type[T]:
        if not (isinstance(found, type) and issubclass(found, self.base)):
            base = f"{self.base.__module__.partition('.')[0]}.{self.base.__name__}"
            raise self._error(f"{name!r}, which is {found!r}", f"Give a subclass of {base}.")
        return found

    def _error(self, value: str, hint: str) -> InvalidInput:
        return InvalidInput(f"{self.field} is {value}.", hint, field=self.field)
