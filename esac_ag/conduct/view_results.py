"""A folder of results: which studies and suite runs lie in it, and what each of them is."""

from __future__ import annotations

import threading
from concurrent.futures import Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from esac_ag.artifacts import StudyFolder
from esac_ag.conduct.view_look import StudyLook
from esac_ag.conduct.view_reports import ReportLook, answer_of, reports_of
from esac_ag.conduct.view_scores import ScoreBook
from esac_ag.conduct.view_study import ViewedStudy
from esac_ag.errors import HarnessError, InputRefused

READERS: Final = 2
"""Studies that are read at the same time, by threads."""

NAMELESS: Final = "its name is no text, so it has no address; give the folder another one"


@dataclass(frozen=True, slots=True)
class Described:
    """A study as it stands, with its reports."""

    look: StudyLook
    reports: tuple[ReportLook, ...]
    """The newest first."""
    answer: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Listed:
    """One folder of results."""

    name: str
    described: Described | None
    """Null where it cannot be read, or is being read for the first time."""
    problem: str
    """What is wrong with it; empty where nothing is, or it is being read."""


class Results:
    """Looks at a folder of results, or at one study alone, again and again; threads may.

    Args:
        path: the folder of results, or a study's own folder.

    Raises:
        InputRefused: there is no such folder.
    """

    def __init__(self, path: Path) -> None:
        if not path.is_dir():
            raise InputRefused(
                "there is no folder of results",
                where=str(path),
                expected="a folder with studies, or a study's own folder",
                remedy="name one: esac-ag view RESULTS",
            )
        is_study = StudyFolder(path).manifest.is_file() and StudyFolder(path).ledger.is_file()
        resolved = path.resolve()
        self.path = resolved.parent if is_study else path
        self.only = resolved.name if is_study else None
        self._mutex = threading.Lock()
        self._studies: dict[str, ViewedStudy] = {}
        self._books: dict[str, ScoreBook] = {}
        self._readers = ThreadPoolExecutor(READERS, thread_name_prefix="results")
        self._reading: dict[str, Future[Described]] = {}

    def begin(self) -> None:
        """Begin to read all studies, so that they are known when somebody asks."""
        for name in filter(_is_text, self.names()):
            self._submitted(name)

    def close(self) -> None:
        """Stop reading; what is read at this moment is read to its end."""
        self._readers.shutdown(wait=True, cancel_futures=True)

    def names(self) -> tuple[str, ...]:
        """The folders that are shown, in order; hidden ones are not.

        Raises:
            InputRefused: the folder of results cannot be read.
        """
        if self.only is not None:
            return (self.only,)
        try:
            return tuple(
                sorted(one.name for one in self.path.iterdir() if one.is_dir() and one.name[0] != ".")
            )
        except OSError as error:
            raise InputRefused(
                "the folder of results cannot be read", where=str(self.path), found=error.strerror or ""
            ) from error

    def study(self, name: str) -> ViewedStudy | None:
        """The study in a folder of that name; none where no such folder is shown."""
        shown = name[:1] not in {"", "."} and "/" not in name and self.only in {None, name}
        if not shown or not (self.path / name).is_dir():
            return None
        with self._mutex:
            return self._studies.setdefault(name, ViewedStudy(self.path / name))

    def scores(self, name: str, look: StudyLook) -> ScoreBook:
        """What is known of a study's scores."""
        with self._mutex:
            return self._books.setdefault(name, ScoreBook(look.folder, look.plan.kind))

    def described(self, name: str) -> Described | None:
        """A study with its reports; none where no such folder is shown.

        Raises:
            HarnessError: it cannot be read.
        """
        study = self.study(name)
        return None if study is None else _described(study)

    def listed(self, *, within_s: float) -> tuple[Listed, ...]:
        """All folders; those that take longer are said to be read, and are there the next time.

        Args:
            within_s: how long is waited for all of them together.
        """
        futures = {name: self._submitted(name) for name in self.names() if _is_text(name)}
        wait(futures.values(), timeout=within_s)
        nameless = (Listed(name, None, NAMELESS) for name in self.names() if not _is_text(name))
        return (*(self._listed(name, future) for name, future in futures.items()), *nameless)

    def _submitted(self, name: str) -> Future[Described]:
        study = self.study(name)
        with self._mutex:
            reading = self._reading.get(name)
            if reading is None:
                reading = self._readers.submit(_described, study or ViewedStudy(self.path / name))
                self._reading[name] = reading
            return reading

    def _listed(self, name: str, future: Future[Described]) -> Listed:
        if not future.done():
            return Listed(name, None, "")
        with self._mutex:
            self._reading.pop(name, None)
        try:
            return Listed(name, future.result(), "")
        except HarnessError as error:
            return Listed(name, None, str(error))
        except OSError as error:
            return Listed(name, None, f"the folder cannot be read: {error.strerror or error}")


def _is_text(name: str) -> bool:
    """Whether a name can stand in an address: Linux takes any bytes for one."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def _described(study: ViewedStudy) -> Described:
    look = study.look()
    reports = reports_of(look)
    return Described(look, reports, answer_of(look, reports))
