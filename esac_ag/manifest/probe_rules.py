"""Rules for the isolation flags and for the probe record that backs them."""

from __future__ import annotations

import json

from pydantic import JsonValue, ValidationError

from esac_ag.canonical import sha256_of
from esac_ag.manifest.collector import Collector
from esac_ag.manifest.findings import shown
from esac_ag.manifest.plan import Isolation, ModelWayKind, Network, ProbeReference
from esac_ag.manifest.probe import ProbeRecord, result_sha256
from esac_ag.manifest.schema import report_schema_faults, schema_of
from esac_ag.manifest.sections import Sections
from esac_ag.manifest.soundness import report_unsound
from esac_ag.manifest.version1_files import Fault
from esac_ag.manifest.version2_files import Version2Files

AT = ("isolation", "probe")
FORMER_VERSION = 1
PROBE = "Probe the isolation again (esac-ag probe), and freeze with the new record."
FLAGS = tuple(name for name, field in Isolation.model_fields.items() if field.annotation is bool)


def judge_isolation(parts: Sections, files: Version2Files, out: Collector) -> None:
    """Every flag is true, and a fitting probe record backs `isolation_probe_passed`."""
    isolation = parts.isolation
    if isolation is None:
        return
    for flag in FLAGS:
        if getattr(isolation, flag) is not True:
            out.unready(("isolation", flag), "isolation", f"`{flag}` is not proved.", "true", "false", PROBE)
    if isolation.probe is None:
        out.unready(AT, "no-probe", "No probe record backs the flags.", "a record", "null", PROBE)
        return
    data = files.probe(isolation.probe.record)
    if isinstance(data, Fault):
        what = f"The probe record cannot be used: {data.reason}."
        out.unready((*AT, "record"), f"probe-{data.code}", what, "a record", isolation.probe.record, PROBE)
        return
    _judge_record(data, isolation.probe, parts, out)


def _judge_record(data: JsonValue, reference: ProbeReference, parts: Sections, out: Collector) -> None:
    inner = out.about(reference.record)
    if isinstance(data, dict) and data.get("format_version") == FORMER_VERSION:
        what = "The probe record is of a former probe, which tried less."
        inner.unready(("format_version",), "probe-stale", what, "2", "1", PROBE)
        return
    if report_unsound(data, inner) or report_schema_faults(data, schema_of(ProbeRecord, "probe-v2"), inner):
        return
    digest = sha256_of(data)
    if digest != reference.sha256:
        what = "The probe record is not the one that was sealed."
        out.unready((*AT, "sha256"), "probe-digest", what, reference.sha256, digest, PROBE)
    try:
        record = ProbeRecord.model_validate_json(json.dumps(data))
    except ValidationError as error:
        inner.error((), "value", "The probe record is malformed.", "a probe record", str(error), PROBE)
        return
    _judge_result(record, inner)
    _judge_fit(record, parts, inner)


def _judge_result(record: ProbeRecord, out: Collector) -> None:
    for index, route in enumerate(record.routes):
        if route.reached:
            what = f"The probe reached private material by {route.name.value}."
            out.unready(("routes", index, "reached"), "probe-reached", what, "false", route.detail, PROBE)
    for name in record.untried:
        what = f"The probe tried nothing by {name}."
        out.unready(("routes",), "probe-untried", what, "1 or more", "0", PROBE)
    found = result_sha256(record.routes)
    if found != record.result_sha256:
        what = "The routes are not the ones whose digest the record holds."
        out.unready(("result_sha256",), "probe-inconsistent", what, record.result_sha256, found, PROBE)
    if not record.passed:
        out.unready(("passed",), "probe-failed", "The probe did not pass.", "true", "false", PROBE)
    elif not record.holds:
        what = "The record says that the probe passed, its routes say that it did not."
        out.unready(("passed",), "probe-inconsistent", what, "false", "true", PROBE)
    if (record.model_way is None) is not (record.network is Network.NONE):
        what = "The record's way to the model is not its network's."
        expected = "null" if record.network is Network.NONE else "a way"
        out.unready(("model_way",), "probe-inconsistent", what, expected, shown(record.model_way), PROBE)


def _judge_fit(record: ProbeRecord, parts: Sections, out: Collector) -> None:
    pairs: list[tuple[tuple[str, ...], JsonValue, JsonValue]] = []
    if parts.study_id is not None:
        pairs.append((("study_id",), parts.study_id, record.study_id))
    if parts.images:
        pairs.append((("images", "agent"), parts.images.agent.digest, record.images.agent))
        pairs.append((("images", "grader"), parts.images.grader.digest, record.images.grader))
    if parts.harness:
        pairs.append((("runner_sha256",), parts.harness.runner_sha256, record.runner_sha256))
        pairs.append((("harness_version",), parts.harness.version, record.harness_version))
    if parts.limits:
        pairs.append((("limits_sha256",), sha256_of(parts.limits), record.limits_sha256))
    if parts.network:
        pairs.append((("network",), parts.network.value, record.network.value))
    if parts.network is Network.MODEL_GATEWAY and record.network is Network.MODEL_GATEWAY and parts.agent:
        # Whether the setting is a way at all is for the agent's own settings to say.
        planned_way = parts.agent.settings.get("model_way", ModelWayKind.SOCKET.value)
        pairs.append((("model_way",), planned_way, record.model_way))
    for at, planned, probed in pairs:
        if planned != probed:
            what = "The probe was made under other conditions than the manifest's."
            out.unready(at, "probe-stale", what, shown(planned), shown(probed), PROBE)
