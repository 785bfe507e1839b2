# Answers the harness's questions as fio 3.33 does. conftest.py appends what a run does.
import json
import os  # noqa: F401  bodies use it
import signal  # noqa: F401  bodies use it
import subprocess  # noqa: F401  bodies use it
import sys
import time  # noqa: F401  bodies use it

VERSION = ""
ARGUMENTS = sys.argv[1:]

if "--version" in ARGUMENTS:
    print(VERSION)
    sys.exit(0)
if "--enghelp" in ARGUMENTS:
    print("Available IO engines:\n\tnull\n\tpsync\n\tio_uring")
    sys.exit(0)
if ARGUMENTS[0].startswith("--cmdhelp="):
    name = ARGUMENTS[0].split("=", 1)[1]
    kinds = {"iodepth": "integer value (opt=100)", "direct": "boolean value (opt=1)"}
    if name in kinds:
        print(f"{name:>20}: Help\n{'type':>20}: {kinds[name]}\n{'default':>20}: 1")
    else:
        print(f"No such command: {name}")
    sys.exit(0)
if ARGUMENTS[0].startswith("--enghelp="):
    sys.exit(0)
if "--parse-only" in ARGUMENTS or "--create_only=1" in ARGUMENTS:
    sys.exit(0)

with open(ARGUMENTS[-1]) as given:
    job = given.read()
output = next((one.split("=", 1)[1] for one in ARGUMENTS if one.startswith("--output=")), None)


def document(ios=1000, error=0):
    times = {
        "min": 100,
        "max": 900,
        "mean": 300.0,
        "stddev": 1.0,
        "N": ios,
        "bins": {"300": ios} if ios else {},
    }
    read = {
        "io_bytes": ios * 4096,
        "bw_bytes": ios * 4096,
        "iops": float(ios),
        "runtime": 1000,
        "total_ios": ios,
        "clat_ns": times,
    }
    one = {
        "jobname": "reader",
        "error": error,
        "read": read,
        "job_runtime": 1000,
        "usr_cpu": 10.0,
        "sys_cpu": 20.0,
        "ctx": 500,
    }
    return {"fio version": VERSION, "jobs": [one]}


def say(path, **how):
    if path is None:  # a layout: fio writes the files, here they are made at once
        for line in job.splitlines():
            if line.startswith("filename="):
                name = line.split("=", 1)[1]
        with open(name, "wb") as file:
            file.truncate(1 << 20)
        return
    with open(path, "w") as file:
        json.dump(document(**how), file, indent=1)


if output is None:
    say(None)
    sys.exit(0)
