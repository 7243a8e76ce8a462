// Which version of the kernels runs.
#include <cstdlib>
#include <cstring>

#include "kernels.hpp"

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

const Kernels* const* runnable_kernels(i64* count) {
    static const Kernels* found[3];
    static i64 n = 0;
    if (n == 0) {
#ifdef DUELIST_X86
        __builtin_cpu_init();
        if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") &&
            __builtin_cpu_supports("avx512vl") && __builtin_cpu_supports("avx512bw"))
            found[n++] = &avx512::table;
        if (__builtin_cpu_supports("avx2")) found[n++] = &avx2::table;
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
