"""What `relay2relax COMMAND --help` and the page of commands show as examples."""

from __future__ import annotations

from collections.abc import Mapping

EXAMPLES: Mapping[str, tuple[str, ...]] = {
    "convert": (
        "relay2relax convert net.relay --params net.params",
        "relay2relax convert net.relay --dims data=batch,_,_,_ --out converted",
        "relay2relax convert net.relay --params net.params --schedule cpu",
        "relay2relax convert net.relay --params net.params --schedule cuda --arch sm_90",
    ),
    "plan": (
        "relay2relax plan net.relay --params net.params",
        "relay2relax plan models/*.relay --fail-on lossy",
        "relay2relax plan models/*.relay --markdown",
    ),
    "migrate": (
        "relay2relax migrate models --out migrated --jobs 2",
        "relay2relax migrate models --out migrated --fail-on lossy --baseline old/report.json",
    ),
    "export": (
        "relay2relax export net.relay --params net.params --bind-params --march x86-64-v3",
        "relay2relax export net.relay --params net.params --format onnx",
        "relay2relax export net.relay --params net.params --format tvm",
    ),
    "compare": (
        "relay2relax compare net.relay --params net.params",
        "relay2relax compare net.relay --params net.params --inputs inputs.npz --expected outputs.npz",
        "relay2relax compare net.relay --backend c --per-node",
        "relay2relax compare net.relay --program relay-vm --draw uniform --draw extremes",
    ),
    "run": (
        "relay2relax run net.relay --params net.params --inputs inputs.npz --out outputs.npz",
        "relay2relax run net.relay --dims data=2,_,_,_ --seed 7",
        "relay2relax run net.relay --backend c --via graph --profile",
        "relay2relax run net_relax --backend c",
    ),
    "inspect": (
        "relay2relax inspect net.relay --params net.params --summary",
        "relay2relax inspect net.relay --dims data=batch,_,_,_",
        "relay2relax inspect net.relay --format dot | dot -Tsvg > net.svg",
        "relay2relax inspect net_relax/net.py",
    ),
    "diff": (
        "relay2relax diff net.relay new.relay",
        "relay2relax diff net.relay new.relay --params net.params --other-params net.params",
    ),
    "extract": (
        "relay2relax extract net.relay --params net.params",
        "relay2relax extract net.relay --params net.params --node %1",
        "relay2relax extract net.relay --params net.params --between %0 %1 --out part",
    ),
    "bisect": (
        "relay2relax bisect net.relay --params net.params",
        "relay2relax bisect net.relay --over rules",
        "relay2relax bisect net.relay --over passes --pass FoldConstant --pass FuseOps",
    ),
    "reduce": (
        "relay2relax reduce net.relay --params net.params",
        "relay2relax reduce net.relay --check 'python mine.py {model} {inputs}'",
    ),
    "split": ("relay2relax split net.relay --params net.params --at %0 --at %1",),
    "passes": (
        "relay2relax passes",
        "relay2relax passes net.relay --apply FoldConstant,ToANormalForm --diff",
        "relay2relax passes --suggest script.py",
    ),
    "python": (
        "relay2relax python script.py --batch 1",
        "relay2relax python --tvm 0.6 script.py",
    ),
    "modernize": (
        "relay2relax modernize script.py",
        "relay2relax modernize script.py --in-place",
        "relay2relax modernize script.py --to tvm",
    ),
    "view": (
        "relay2relax view net.relay --params net.params --run -o net.html",
        "relay2relax view net.relay net_relax",
    ),
    "doctor": ("relay2relax doctor",),
    "cache": ("relay2relax cache info",),
    "explain": ("relay2relax explain R2R-0203",),
    "demo": ("relay2relax demo",),
}
