"""Makes a large report by repeating the blocks of a small one: repeat.py REPORT BYTES OUT"""
import struct
import sys

report = open(sys.argv[1], "rb").read()
start = 8 + struct.unpack("<I", report[4:8])[0]
blocks = report[start:]
with open(sys.argv[3], "wb") as out:
    out.write(report[:start])
    for _ in range(max(1, int(sys.argv[2]) // len(blocks))):
        out.write(blocks)
