#!/usr/bin/env python3
"""agent/hooks/generate: a small header of every kind of argument becomes the lines written here by hand."""
import os
import subprocess
import sys
import tempfile

GENERATE = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "agent", "hooks", "generate", "generate.py")

HEADER = """
#define TOY_VERSION 7
typedef struct toy_stream_st *toyStream_t;
typedef enum { TOY_OK } toyError_t;
typedef unsigned long long toyptr;
struct dim3 { unsigned x, y, z; };
typedef struct dim3 dim3;
typedef struct { int kind, id; } toyPlace;
typedef struct { size_t width, height, depth; } toyExtent;
typedef struct { float x, y; } toyComplex;
typedef void (*toyCallback)(void *data);
toyError_t toyMalloc(void **pointer, size_t size);
toyError_t toyCopy(toyptr to, const void *from, size_t bytes, toyStream_t stream);
toyError_t toyCopy_ptsz(toyptr to, const void *from, size_t bytes, toyStream_t hStream);
toyError_t toyLaunch(const void *function, dim3 grid, dim3 block, void **args, toyStream_t stream);
toyError_t toyGetSizes(size_t *first, unsigned *second, float *third, char *fourth, const int *fifth, short *sixth);
toyError_t toyBatch(const size_t sizes[], unsigned count, int x);
toyError_t toyAdvise(void *pointer, toyPlace place, toyExtent extent, unsigned char flag, long long big, double exact, bool truth);
toyError_t toyNamed(const char *name, const char *path, toyCallback callback, struct toy_stream_st *const *list, toyStream_t *made);
const char *toyText(toyError_t error);
unsigned long toyVersion(void);
toyError_t toyComplexSum(toyComplex value);
toyExtent toyExtentOf(int value);
toyError_t toyLong(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, int m, int n, int o, int p,
                   int q, int r, int s, int t, void *u, long v);
toyError_t toyTooLong(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, int m, int n, int o, int p,
                      int q, int r, int s, int t, double u);
int other(int a);
"""
OVERLAY = """%header toy.h
%version TOY_VERSION 7
%functions toy\\w+
%streams toyStream_t
%type toyptr ptr
%arrays args
%short Get|Version
# toy.hooks: a toy.
domain toy
default error=nonzero

toyMalloc  alloc kind=device device=current pointer=*pointer size=size
toyC*  copy bytes=bytes
toyBatch/2  bytes=sum(sizes,count)
int toyOld(int a)  level=count
%rest
"""
WANTED = """# toy.hooks: a toy.
domain toy
default error=nonzero

uint toyMalloc(ptr *pointer, ulong size)  alloc kind=device device=current pointer=*pointer size=size
uint toyCopy(ptr to, ptr from, ulong bytes, ptr stream)  copy bytes=bytes stream=stream also=_ptsz
uint toyBatch(ptr sizes, uint count)  bytes=sum(sizes,count)
int toyOld(int a)  level=count
uint toyLaunch(ptr function, dim3 grid, dim3 block, ptr args, ptr stream)  stream=stream
uint toyGetSizes(ulong *first, uint *second, float *third, ptr fourth, ptr fifth, ptr sixth)  short auto=time
uint toyAdvise(ptr pointer, ulong place, struct(24) extent, int flag, long big, double exact, int truth)
uint toyNamed(text name, str path, ptr callback, ptr list, ptr *made)
str toyText(uint error)  error=never
ulong toyVersion()  error=never short auto=time
*:toyComplexSum
*:toyExtentOf
uint toyLong(int a, int b, int c, int d, int e, int f, int g, int h, int i, int j, int k, int l, int m, int n, int o, int p, int q, int r, int s, int t) \\
        hidden=2
*:toyTooLong
""".replace("uint toy", "int toy").replace("(uint error", "(int error")


def run(directory, *arguments):
    return subprocess.run([sys.executable, GENERATE, *arguments, os.path.join(directory, "generate", "toy.overlay")],
                          capture_output=True, text=True, check=False)


def write(directory, name, text):
    with open(os.path.join(directory, name), "w", encoding="utf-8") as stream:
        stream.write(text)


def main():
    with tempfile.TemporaryDirectory() as directory:
        os.mkdir(os.path.join(directory, "generate"))
        write(directory, "toy.h", HEADER)
        write(directory, "generate/toy.overlay", OVERLAY)
        include = ("-I", directory)
        done = run(directory, *include)
        with open(os.path.join(directory, "toy.hooks"), encoding="utf-8") as stream:
            got = stream.read()
        if done.returncode != 0 or got != WANTED:
            print(done.stdout + done.stderr + got)
            return 1
        checks = [run(directory, "--check", *include).returncode]
        write(directory, "toy.hooks", WANTED.replace("ulong size", "long size"))
        checks.append(run(directory, "--check", *include).returncode)
        checks.append(run(directory, "--check").returncode)  # no header
        write(directory, "generate/toy.overlay", "%digest toy.h 0123456789abcdef\n" + OVERLAY)
        checks.append(run(directory, "--check", *include).returncode)
        write(directory, "generate/toy.overlay", OVERLAY)
        write(directory, "toy.h", HEADER.replace("TOY_VERSION 7", "TOY_VERSION 8"))
        checks.append(run(directory, "--check", *include).returncode)
    if checks != [0, 1, 3, 3, 3]:
        print(f"status of the checks: {checks}")
    return checks != [0, 1, 3, 3, 3]


if __name__ == "__main__":
    sys.exit(main())
