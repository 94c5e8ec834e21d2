#!/usr/bin/env python3
"""Splits NeuSight's operator table into rows to train on and rows to test on.

A group of rows is never on both sides, on any device: for matrix products the group is the weight
(batch, reduction, columns), for other operators the shape. The hash of the group decides, so the
split is the same on every machine and for every device.
"""
import argparse
import csv
import gzip
import hashlib
import io


def group_of(row):
    if row["op"] == "linear":
        return ("linear", row["N"], row["K"])
    if row["op"] == "bmm":
        return ("bmm", row["B"], row["N"], row["K"])
    shape = ("B", "M", "N", "K", "H", "Cin", "Cout", "ksize", "in_size", "stride", "pad")
    return (row["op"].removesuffix("u"),) + tuple(row[column] for column in shape)


def held_out(row, share):
    digest = hashlib.sha256(" ".join(group_of(row)).encode()).digest()
    return int.from_bytes(digest[:8], "big") < share * 2**64


def open_for_writing(path):
    # No name and no time in the header: equal rows give equal bytes.
    packed = gzip.GzipFile(filename="", mode="wb", fileobj=open(path, "wb"), mtime=0)
    return io.TextIOWrapper(packed, encoding="utf-8", newline="")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("table", help="NeuSight's table, .csv.gz")
    parser.add_argument("train", help="file for the rows to train on, .csv.gz")
    parser.add_argument("test", help="file for the held-out rows, .csv.gz")
    parser.add_argument("--share", type=float, default=0.4, help="share of the groups to hold out")
    arguments = parser.parse_args()
    counts = [0, 0]
    with gzip.open(arguments.table, "rt", newline="") as table:
        reader = csv.DictReader(table)
        with open_for_writing(arguments.train) as train, open_for_writing(arguments.test) as test:
            writers = [csv.DictWriter(file, reader.fieldnames, lineterminator="\n") for file in (train, test)]
            for writer in writers:
                writer.writeheader()
            for row in reader:
                side = held_out(row, arguments.share)
                writers[side].writerow(row)
                counts[side] += 1
    print(f"{counts[0]} rows to train on, {counts[1]} held out")


if __name__ == "__main__":
    main()
