// The engine as Python sees it: `duelist.native`.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"

namespace duelist {

namespace {

void bind_vectors(nb::module_& m) {
    m.def("vectors", [] { return kernels->name; });
    m.def("runnable_vectors", [] {
        i64 count;
        const Kernels* const* runnable = runnable_kernels(&count);
        std::vector<std::string> names;
        for (i64 k = 0; k < count; k++) names.push_back(runnable[k]->name);
        return names;
    });
    m.def(
        "use_vectors",
        [](const std::string& name) {
            i64 count;
            const Kernels* const* runnable = runnable_kernels(&count);
            for (i64 k = 0; k < count; k++)
                if (name == runnable[k]->name) return void(kernels = runnable[k]);
            throw std::invalid_argument("this machine cannot run the vectors '" + name + "'");
        },
        "name"_a);
}

}  // namespace

}  // namespace duelist

NB_MODULE(native, m) {
    nanobind::set_leak_warnings(false);  // a policy that lives until the interpreter exits is not a leak
    using namespace duelist;
    m.doc() = "The native engine of duelist.";
    bind_vectors(m);
    bind_state(m);
    bind_pair_counts(m);
    bind_player(m);
    bind_arm_effects(m);
    bind_counting(m);
    bind_simulation(m);
    bind_estimation(m);
    bind_selection(m);
}
