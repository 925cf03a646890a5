"""Where things are in the work tree. Everything built goes under build/; nothing is installed outside of it."""

from __future__ import annotations

from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
BUILD = ROOT / "build"
LOGS = BUILD / "logs"
RELEASE = BUILD / "release"
DEV = BUILD / "dev"
TSAN = BUILD / "tsan"
FUZZ = BUILD / "fuzz"

OVS = BUILD / "ovs"
OVS_SANITIZED = BUILD / "ovs-dev"  # the same under AddressSanitizer
OVS_TREE = OVS / "src"  # patched and built in place
OVS_SCHEMA = OVS_TREE / "vswitchd" / "vswitch.ovsschema"
LOSSLESS = Path("ovs_patches", "netdev", "liblossless.a")  # in a build folder
OVS_PATCHES = ROOT / "ovs_patches"
