"""Chooses, once at import, for which level of x86-64 the hot modules run: v2, v3 (AVX2) or v4 (AVX-512).

Hot modules are compiled for each level (setup.py). Those of v3 and v4 lie in folders of that name beside the others, and
a package that has some puts the right folder first on its path: `__path__ = folders(__path__)`. The environment variable
ECMSKETCH_CPU=v2|v3|v4 chooses another level. Other processors, and modules built for one machine, have one build.
"""

import os

cdef extern from *:
    """
    #if defined(__x86_64__)
    #include <cpuid.h>
    static int level_of_processor(void) {
        unsigned a, b, c, d, low, high;
        const unsigned v3_basic = 1u << 12 | 1u << 22 | 1u << 27 | 1u << 28 | 1u << 29;  /* FMA, MOVBE, OSXSAVE, AVX, F16C */
        const unsigned v3_more = 1u << 3 | 1u << 5 | 1u << 8;  /* BMI1, AVX2, BMI2 */
        const unsigned v4_more = 1u << 16 | 1u << 17 | 1u << 28 | 1u << 30 | 1u << 31;  /* AVX512 F, DQ, CD, BW, VL */
        if (!__get_cpuid(1, &a, &b, &c, &d) || (c & v3_basic) != v3_basic)
            return 2;
        __asm__ volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));  /* registers that the system saves */
        if ((low & 0x06) != 0x06 || !__get_cpuid(0x80000001, &a, &b, &c, &d) || !(c & 1u << 5))  /* LZCNT */
            return 2;
        if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || (b & v3_more) != v3_more)
            return 2;
        return (b & v4_more) == v4_more && (low & 0xe6) == 0xe6 ? 4 : 3;
    }
    #else
    static int level_of_processor(void) { return 0; }
    #endif
    """
    int level_of_processor()


def best_level():
    """The highest level that this machine can run, such as "v3"; "" on other processors than x86-64."""
    cdef int level = level_of_processor()
    return f"v{level}" if level else ""


def chosen_level():
    """The level that is used: ECMSKETCH_CPU, or the highest that this machine can run."""
    best, wanted = best_level(), os.environ.get("ECMSKETCH_CPU", "")
    if not wanted:
        return best
    if wanted not in ("v2", "v3", "v4") or wanted > best:
        can = f"v2 to {best}" if best else "no level of x86-64"
        raise ImportError(f"ECMSKETCH_CPU: expected v2, v3 or v4, and this machine can run {can}; got {wanted!r}")
    return wanted


def folders(path):
    """The path of a package with hot modules: the folder of the level used comes first, if this build has it."""
    level = chosen_level()
    faster = [os.path.join(folder, level) for folder in path if level > "v2"]
    return [folder for folder in faster if os.path.isdir(folder)] + list(path)
