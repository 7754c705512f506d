"""``make fuzz``: reads damaged Relay until it has seen enough of it.

    python tests/fuzz/run.py [--inputs 1000000] [--seed 0]

One in twenty inputs is guided by coverage, where atheris is installed: libFuzzer keeps what reaches
something new in the readers. These and the seeds are damaged further for the rest, which is many
times faster. Behind them come files of weights, graphs, ONNX models, saved executables (loaded and
run) and weights of exported libraries, a fifth as many of each. An input that does not end in a
result or in an exception of ours, takes too long or too much memory, or kills the process, is a
finding: it is written to ``fuzz-<hash>``, and the run fails.
"""

from __future__ import annotations

import argparse
import hashlib
import importlib.util
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import NoReturn

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "support"))

SECONDS_PER_INPUT = 10
MEGABYTES = 2048
GUIDED = 20
SCRIPTS = 100
# One file of each format for so many inputs; fewer where each may be compiled.
FILES = 5
COMPILED = 500
GENERATIONS = 6
# Of ten damaged inputs, those that are changed as Relay rather than as bytes.
STRUCTURED = 8


def guided(inputs: int, seed: int, corpus: Path) -> None:
    """Run under libFuzzer, which leaves in ``corpus`` what reached something new, and ends the
    process.
    """
    import atheris

    with atheris.instrument_imports(include=["relay2relax.relay_ir"]):
        import relay2relax.relay_ir.io.params
        import relay2relax.relay_ir.json.reader
        import relay2relax.relay_ir.text.parser  # noqa: F401
    import fuzzing

    found = fuzzing.seeds()
    for one in found:
        (corpus / hashlib.sha1(one).hexdigest()).write_bytes(one)

    def mutate(data: bytes, most: int, number: int) -> bytes:
        rng = random.Random(number)
        if rng.randrange(10) < STRUCTURED:
            return fuzzing.damage(rng, data, found)[:most]
        changed: bytes = atheris.Mutate(data, most)
        return changed

    options = [
        f"-runs={inputs}",
        f"-seed={seed + 1}",
        f"-max_len={fuzzing.LONGEST}",
        f"-timeout={SECONDS_PER_INPUT}",
        f"-rss_limit_mb={MEGABYTES}",
        "-artifact_prefix=fuzz-",
        "-print_final_stats=1",
        "-verbosity=0",
        str(corpus),
    ]
    atheris.Setup([sys.argv[0], *options], lambda data: fuzzing.check(bytes(data)) and None, custom_mutator=mutate)
    atheris.Fuzz()


def _too_long(number: int, frame: object) -> NoReturn:
    raise TimeoutError(f"took more than {SECONDS_PER_INPUT} seconds")


def unguided(inputs: int, seed: int, corpus: Path) -> int:
    """Damage the seeds, ``corpus`` and what came of them ``inputs`` times.

    Return the number of findings.
    """
    import fuzzing

    resource.setrlimit(resource.RLIMIT_AS, (MEGABYTES << 20, resource.getrlimit(resource.RLIMIT_AS)[1]))
    signal.signal(signal.SIGALRM, _too_long)
    found = fuzzing.seeds()
    # Inputs, and how often each was damaged.
    pool = [(one, 0) for one in (*found, *(path.read_bytes() for path in sorted(corpus.iterdir())))]
    given = len(pool)
    rng = random.Random(seed)
    findings = read = 0
    begin = time.monotonic()
    for number in range(1, inputs + 1):
        source, generation = rng.choice(pool)
        data = fuzzing.damage(rng, source, found)
        problem = ""
        signal.alarm(SECONDS_PER_INPUT)
        try:
            if fuzzing.check(data):
                read += 1
                # What still is a module is damaged further, but not for ever: modules that no
                # damage harms, as those that are all comment, would crowd out the others.
                if generation + 1 < GENERATIONS:
                    if len(pool) < 3 * given:
                        pool.append((data, generation + 1))
                    else:
                        pool[rng.randrange(given, len(pool))] = (data, generation + 1)
        except Exception as error:  # noqa: BLE001 - any exception that is not ours is what is looked for
            problem = f"{type(error).__name__}: {error}"
        finally:
            signal.alarm(0)
        if problem:
            findings += 1
            name = f"fuzz-{hashlib.sha1(data).hexdigest()[:16]}"
            Path(name).write_bytes(data)
            print(f"{name}: {problem[:200]}")
        if number % 10_000 == 0 or number == inputs:
            seconds = time.monotonic() - begin
            print(f"{number} inputs, {read} of them modules, {findings} findings, {seconds:.0f} s", flush=True)
    return findings


def files(inputs: int, seed: int) -> int:
    """Damage files of every format; return the number of findings."""
    from file_fuzzing import campaign
    from file_fuzzing.exported import EXPORTED
    from file_fuzzing.onnx_models import ONNX, ONNX_OPERATORS
    from file_fuzzing.programs import GRAPH, RELAY_VM, RELAY_VM_C, VM, VM_C
    from file_fuzzing.weights import NPZ, PARAMS, SAFETENSORS

    forms = (NPZ, SAFETENSORS, PARAMS, GRAPH, VM, RELAY_VM, ONNX, ONNX_OPERATORS)
    found = sum(campaign.run(form, inputs // FILES, seed) for form in forms)
    if shutil.which("cc") is None:
        print("there is no C compiler: no exported library reads weights, and no executable runs on C")
        return found
    found += campaign.run(EXPORTED, inputs // FILES, seed)
    return found + sum(campaign.run(form, inputs // COMPILED, seed) for form in (VM_C, RELAY_VM_C))


def main() -> None:
    """Run as the command line says."""
    parser = argparse.ArgumentParser(description="Read damaged Relay.")
    parser.add_argument("--inputs", type=int, default=1_000_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--guided", type=Path, metavar="CORPUS", help="only run under libFuzzer, on this corpus")
    given = parser.parse_args()
    if given.guided is not None:
        guided(given.inputs, given.seed, given.guided)
    with tempfile.TemporaryDirectory() as folder:
        findings = 0
        share = 0
        if importlib.util.find_spec("atheris") is None:
            print("atheris is not installed: no input is guided by coverage")
        else:
            share = given.inputs // GUIDED
            command = [sys.executable, __file__, "--inputs", str(share), "--seed", str(given.seed), "--guided", folder]
            findings = int(subprocess.run(command, check=False).returncode != 0)
            print(f"{share} inputs guided by coverage left {len(os.listdir(folder))} of note", flush=True)
        findings += unguided(given.inputs - share, given.seed, Path(folder))
    findings += files(given.inputs, given.seed)
    import script_fuzzing

    scripts = given.inputs // SCRIPTS
    script_fuzzing.run(scripts, given.seed)
    print(f"{scripts} scripts, no findings")
    sys.exit(1 if findings else 0)


if __name__ == "__main__":
    main()
