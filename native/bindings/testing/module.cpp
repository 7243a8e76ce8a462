// The module that tests use: parts of the engine on their own. Wheels do not contain it.
#include "bindings/arrays.hpp"

NB_MODULE(native_testing, m) {
    using namespace duelist;
    m.doc() =
        "Parts of the native engine on their own, so that tests can compare each with an independent computation.";
    bind_search_for_tests(m);
    bind_numerics_for_tests(m);
}
