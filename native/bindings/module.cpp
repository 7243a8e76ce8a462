// The module `duelist.native`.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings/arrays.hpp"

namespace duelist {

namespace {

std::span<const Kernels* const> available_kernels() {
    i64 count;
    const Kernels* const* available = runnable_kernels(&count);
    return {available, static_cast<std::size_t>(count)};
}

std::vector<std::string> vector_extensions() {
    std::vector<std::string> names;
    for (const Kernels* each : available_kernels()) names.push_back(each->name);
    return names;
}

void use_vector_extension(const std::string& name) {
    for (const Kernels* each : available_kernels())
        if (name == each->name) return void(kernels = each);
    throw std::invalid_argument("This machine does not support the vector extension '" + name + "'.");
}

}  // namespace

}  // namespace duelist

NB_MODULE(native, m) {
    nanobind::set_leak_warnings(false);  // a policy that lives until the interpreter exits is not a leak
    using namespace duelist;
    m.doc() = "The native engine of duelist.";
    m.def("vector_extension", [] { return kernels->name; });
    m.def("vector_extensions", &vector_extensions);
    m.def("use_vector_extension", &use_vector_extension, "name"_a);
    bind_policy_state(m);
    bind_live_policy(m);
    bind_arm_effects(m);
    bind_counting(m);
    bind_simulation(m);
    bind_estimation(m);
    bind_pair_search(m);
}
