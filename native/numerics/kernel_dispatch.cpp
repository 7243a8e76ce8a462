// Selects the kernels for this processor.
#include <cstdlib>
#include <cstring>
#ifdef DUELIST_X86
#include <cpuid.h>
#endif

#include "numerics/kernels.hpp"

namespace duelist {

namespace baseline {
extern const Kernels table;
}
#ifdef DUELIST_X86
namespace avx2 {
extern const Kernels table;
}
namespace avx512 {
extern const Kernels table;
}
#endif

#ifdef DUELIST_X86
namespace {

// Features that the processor has and the operating system saves on a context switch. Read with the instructions
// themselves, because __builtin_cpu_supports needs a runtime library that not every compiler ships.
struct Processor {
    bool avx2 = false, avx512 = false;

    Processor() {
        unsigned a, b, c, d;
        if (!__get_cpuid(1, &a, &b, &c, &d) || !(c >> 27 & 1) || !(c >> 28 & 1)) return;  // OSXSAVE, AVX
        unsigned saved, high;
        __asm__ volatile("xgetbv" : "=a"(saved), "=d"(high) : "c"(0));
        if (!__get_cpuid_count(7, 0, &a, &b, &c, &d)) return;
        avx2 = (saved & 0x6) == 0x6 && (b >> 5 & 1);
        bool all = (b >> 16 & 1) && (b >> 17 & 1) && (b >> 30 & 1) && (b >> 31 & 1);  // F, DQ, BW, VL
        avx512 = avx2 && (saved & 0xE6) == 0xE6 && all;
    }
};

}  // namespace
#endif

const Kernels* const* runnable_kernels(i64* count) {
    static const Kernels* found[3];
    static i64 n = 0;
    if (n == 0) {
#ifdef DUELIST_X86
        Processor processor;
        if (processor.avx512) found[n++] = &avx512::table;
        if (processor.avx2) found[n++] = &avx2::table;
#endif
        found[n++] = &baseline::table;
    }
    *count = n;
    return found;
}

namespace {

const Kernels* chosen_kernels() {
    i64 count;
    const Kernels* const* runnable = runnable_kernels(&count);
    const char* wanted = std::getenv("DUELIST_VECTORS");
    for (i64 k = 0; wanted && k < count; k++)
        if (std::strcmp(runnable[k]->name, wanted) == 0) return runnable[k];
    return runnable[0];
}

}  // namespace

const Kernels* kernels = chosen_kernels();

}  // namespace duelist
