#!/usr/bin/env python3
"""Writes oracle.txt.gz: random placements and what the reference model says of them.

usage: generate.py MODEL.py SEED COUNT > oracle.txt.gz

MODEL.py is the reference model (a function model(k, zone, w, R, cap, thr)); it
is not part of this repository. Each line is
  pods zones weight range cap | per strategy: node zone drop min max cv; then the share of the draw; all in units of 1e-8
and the first line names the seed, so that the file can be made again.
"""
import contextlib, gzip, io, random, runpy, sys

ORDER = ['cluster', 'iTP Local', 'PreferSameZone', 'PreferSameNode', 'skipper thr=3',
         'eqtv', 'topo Auto', 'eTP Local even LB', 'eTP Local weighted']
FIELDS = ['node', 'zone', 'drop', 'minr', 'maxr', 'cv']


def placement(rng):
    n = rng.randint(1, 12)
    top = rng.choice([1, 2, 4, 4, 5, 7])
    pods = [rng.randint(0, top) for _ in range(n)]
    if sum(pods) == 0:
        pods[rng.randrange(n)] = 1
    zones = rng.randint(1, 4)
    names = [chr(ord('a') + (i * zones // n if rng.random() < .7 else rng.randrange(zones))) for i in range(n)]
    return pods, names, rng.choice([50, 100, 100, 100, 120, 150]), rng.choice([480, 480, 480, 400]), rng.choice([4, 4, 4, 2])


def main():
    path, seed, count = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    with contextlib.redirect_stdout(io.StringIO()):
        model = runpy.run_path(path)['model']
    rng = random.Random(seed)
    out = [f'seed {seed} placements {count} strategies {",".join(ORDER)}']
    for _ in range(count):
        pods, zones, w, r, cap = placement(rng)
        result = model(pods, zones, w=float(w), R=float(r), cap=cap)
        values = [round(result[s][f] * 1e8) for s in ORDER for f in FIELDS]
        values.append(round(result['eqtv']['L_us'] * 1e8))
        out.append(' '.join([','.join(map(str, pods)), ''.join(zones), str(w), str(r), str(cap), '|']
                            + [str(v) for v in values]))
    raw = io.BytesIO()
    with gzip.GzipFile(fileobj=raw, mode='wb', compresslevel=9, mtime=0) as z:
        z.write(('\n'.join(out) + '\n').encode())
    sys.stdout.buffer.write(raw.getvalue())


main()
