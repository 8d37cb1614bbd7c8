"""Keys, tokens and passwords by their well-known form, whoever's they are. Pure.

Most forms are those of `detect-secrets`; those of model providers are ours. Detectors of mere entropy and of
words such as `password` are left out: digests and tests would be found in every study.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from detect_secrets.plugins.artifactory import ArtifactoryDetector
from detect_secrets.plugins.aws import AWSKeyDetector
from detect_secrets.plugins.azure_storage_key import AzureStorageKeyDetector
from detect_secrets.plugins.base import RegexBasedDetector
from detect_secrets.plugins.basic_auth import BasicAuthDetector
from detect_secrets.plugins.cloudant import CloudantDetector
from detect_secrets.plugins.discord import DiscordBotTokenDetector
from detect_secrets.plugins.github_token import GitHubTokenDetector
from detect_secrets.plugins.gitlab_token import GitLabTokenDetector
from detect_secrets.plugins.ibm_cloud_iam import IbmCloudIamDetector
from detect_secrets.plugins.ibm_cos_hmac import IbmCosHmacDetector
from detect_secrets.plugins.mailchimp import MailchimpDetector
from detect_secrets.plugins.npm import NpmDetector
from detect_secrets.plugins.openai import OpenAIDetector
from detect_secrets.plugins.private_key import PrivateKeyDetector
from detect_secrets.plugins.pypi_token import PypiTokenDetector
from detect_secrets.plugins.sendgrid import SendGridDetector
from detect_secrets.plugins.slack import SlackDetector
from detect_secrets.plugins.softlayer import SoftlayerDetector
from detect_secrets.plugins.square_oauth import SquareOAuthDetector
from detect_secrets.plugins.stripe import StripeDetector
from detect_secrets.plugins.telegram_token import TelegramBotTokenDetector
from detect_secrets.plugins.twilio import TwilioKeyDetector

_LIBRARY: Final[tuple[tuple[type[RegexBasedDetector], tuple[str, ...]], ...]] = (
    (ArtifactoryDetector, ("AKC", *(f"AP{digit}" for digit in "0123456789ABCDEF"))),
    (AWSKeyDetector, ("AKIA", "ASIA", "ABIA", "ACCA", "A3T", "aws", "AWS", "Aws")),
    (AzureStorageKeyDetector, ("AccountKey=",)),
    (BasicAuthDetector, ("://",)),
    (CloudantDetector, ("cloudant", "CLOUDANT", "Cloudant")),
    (DiscordBotTokenDetector, (".",)),
    (GitHubTokenDetector, ("gh",)),
    (GitLabTokenDetector, ("gl", "GR1348941")),
    (IbmCloudIamDetector, ("ibm", "IBM")),
    (IbmCosHmacDetector, ("cos_", "COS_", "cos-", "COS-", "hmac", "HMAC")),
    (MailchimpDetector, ("-us",)),
    (NpmDetector, ("_authToken",)),
    (OpenAIDetector, ("T3BlbkFJ",)),
    (PrivateKeyDetector, ("PRIVATE KEY", "PuTTY")),
    (PypiTokenDetector, ("pypi-",)),
    (SendGridDetector, ("SG.",)),
    (SlackDetector, ("xox", "hooks.slack.com")),
    (SoftlayerDetector, ("softlayer", "SOFTLAYER", "Softlayer", "SoftLayer")),
    (SquareOAuthDetector, ("sq0csp",)),
    (StripeDetector, ("k_live_",)),
    (TelegramBotTokenDetector, (":",)),
    (TwilioKeyDetector, ("AC", "SK")),
)
"""Each detector with texts one of which has to be there for it to find anything: looking for them is fast."""

_FAR: Final = 100
"""How far the first digit of a key may be from its beginning: agents may write a text of beginnings alone."""
_OWN: Final = (
    (
        "a key of a model provider",
        rf"(?<![A-Za-z0-9])sk-(?=[A-Za-z0-9_-]{{0,{_FAR}}}\d)[A-Za-z0-9_-]{{20,}}",
        ("sk-",),
    ),
    ("a key of a model provider", r"(?<![A-Za-z0-9])AIza[0-9A-Za-z_-]{35}", ("AIza",)),
    (
        "a key of a model provider",
        r"(?<![A-Za-z0-9])(?:gsk|hf|r8)_[A-Za-z0-9]{30,}",
        ("gsk_", "hf_", "r8_"),
    ),
    (
        "a key of a model provider",
        rf"(?<![A-Za-z0-9])(?:xai|pplx|nvapi|csk)-(?=[A-Za-z0-9_-]{{0,{_FAR}}}\d)[A-Za-z0-9_-]{{30,}}",
        ("xai-", "pplx-", "nvapi-", "csk-"),
    ),
    # Not the library's form, which takes a time that grows with the square of a text of many beginnings.
    (
        "a token in the form of JWT",
        r"(?<![A-Za-z0-9_-])eyJ[A-Za-z0-9_-]++={0,2}+\.[A-Za-z0-9_-]+",
        ("eyJ",),
    ),
    ("a token of GitHub", r"github_pat_[A-Za-z0-9_]{40,}", ("github_pat_",)),
    ("a token of Google", r"ya29\.[0-9A-Za-z_-]{30,}", ("ya29.",)),
    (
        "a bearer token",
        r"(?i:\bbearer\s+)(?=[A-Za-z0-9._~+/-]*\d)[A-Za-z0-9._~+/-]{24,}",
        ("earer ", "EARER "),
    ),
)
_DIGEST: Final = re.compile(r"(?<![0-9A-Za-z])[0-9a-f]{64}(?![0-9A-Za-z])")
_NOBODYS: Final = "0"
"""Stands for a digest, in which no form is looked for; most of a ledger are digests."""


class KeyFormat(NamedTuple):
    """One form of a key."""

    what: str
    pattern: re.Pattern[str]
    needs: tuple[str, ...]


def _formats() -> Iterator[KeyFormat]:
    for what, pattern, literals in _OWN:
        yield KeyFormat(what, re.compile(pattern), literals)
    for kind, needs in _LIBRARY:
        detector = kind()
        for compiled in detector.denylist:
            yield KeyFormat(f"what looks like {detector.secret_type}", compiled, needs)


FORMATS: Final = tuple(_formats())


def without_digests(text: str) -> str:
    """The text with every SHA-256 shortened, line by line the same."""
    return _DIGEST.sub(_NOBODYS, text)


def keys_in(text: str) -> Iterator[tuple[str, int]]:
    """What looks like a key in a text without digests, and the offset where it begins."""
    for form in FORMATS:
        if any(one in text for one in form.needs):
            for found in form.pattern.finditer(text):
                yield form.what, found.start()
