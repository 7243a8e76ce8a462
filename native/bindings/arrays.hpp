// What the files that bind the engine to Python share: array types, checks, and arrays that Python owns.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "engine/player.hpp"

namespace duelist {

namespace nb = nanobind;
using namespace nb::literals;

// A C-contiguous array whose numbers lie at addresses that are multiples of their size; others do not fit an argument.
template <class... Args>
class Aligned : public nb::ndarray<Args..., nb::c_contig, nb::device::cpu> {
public:
    using Plain = nb::ndarray<Args..., nb::c_contig, nb::device::cpu>;
    Aligned() = default;
    explicit Aligned(Plain&& array) : Plain(std::move(array)) {}
    bool lies_well() const {
        return this->size() == 0 ||
               reinterpret_cast<std::uintptr_t>(this->data()) % alignof(typename Plain::Scalar) == 0;
    }
};

using Vector = Aligned<const double, nb::ndim<1>>;
using Matrix = Aligned<const double, nb::ndim<2>>;
using Cube = Aligned<const double, nb::ndim<3>>;
using Whole = Aligned<const i64, nb::ndim<1>>;
using Words = Aligned<const u64, nb::shape<4>>;
using TwoArms = Aligned<const u64, nb::shape<2>>;
using Pairs = Aligned<const i64, nb::shape<-1, 2>>;

// An array of its own with these numbers.
template <class T>
nb::ndarray<nb::numpy, T> copied(const T* numbers, std::initializer_list<i64> shape) {
    std::vector<std::size_t> sizes(shape.begin(), shape.end());
    std::size_t n = 1;
    for (std::size_t size : sizes) n *= size;
    T* cells = new T[n > 0 ? n : 1];
    std::copy(numbers, numbers + n, cells);
    nb::capsule owner(cells, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T>(cells, sizes.size(), sizes.data(), owner);
}

template <class T>
nb::ndarray<nb::numpy, T> copied(const std::vector<T>& numbers) {
    return copied(numbers.data(), {static_cast<i64>(numbers.size())});
}

inline PolicyState& known(LivePolicy& policy) {
    if (!policy.state) throw std::invalid_argument("the policy has seen no arms yet");
    return *policy.state;
}

inline Layer& layer_of(LivePolicy& policy, i64 layer) {
    if (layer < 0 || layer >= known(policy).n_layers()) throw std::invalid_argument("there is no such layer");
    return policy.state->layer(layer);
}

// Pairs of positions below n; an arm with itself is left out: `distinct` speaks of those.
inline PairSet pair_set(const Pairs& pairs, i64 n) {
    PairSet set;
    for (std::size_t k = 0; k < pairs.shape(0); k++) {
        i64 i = pairs.data()[2 * k], j = pairs.data()[2 * k + 1];
        if (i < 0 || j < 0 || i >= n || j >= n) throw std::invalid_argument("an excluded pair is not on the table");
        if (i != j) set.add(i, j);
    }
    set.seal();
    return set;
}

inline ArmTable table_of(LivePolicy& policy, const Matrix& arms, bool distinct, const PairSet& out) {
    i64 n = static_cast<i64>(arms.shape(0)), dim = static_cast<i64>(arms.shape(1));
    if (n == 0 || dim != known(policy).dim) throw std::invalid_argument("the arms do not fit the policy");
    return {arms.data(), n, dim, distinct, out.size() ? &out : nullptr};
}

void bind_arm_effects(nb::module_& m);
void bind_counting(nb::module_& m);
void bind_estimation(nb::module_& m);
void bind_pair_counts(nb::module_& m);
void bind_player(nb::module_& m);
void bind_selection(nb::module_& m);
void bind_simulation(nb::module_& m);
void bind_state(nb::module_& m);

// Of the module that tests use.
void bind_numeric_parts(nb::module_& m);
void bind_search_parts(nb::module_& m);

}  // namespace duelist

namespace nanobind::detail {

template <class... Args>
struct type_caster<duelist::Aligned<Args...>> {
    using Plain = typename duelist::Aligned<Args...>::Plain;
    NB_TYPE_CASTER(duelist::Aligned<Args...>, make_caster<Plain>::Name)

    bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
        make_caster<Plain> plain;
        if (!plain.from_python(source, flags, cleanup)) return false;
        value = duelist::Aligned<Args...>(std::move(plain.value));
        return value.lies_well();
    }
};

}  // namespace nanobind::detail

namespace duelist {

// An array of a dictionary, with the type and the shape that it must have.
template <class T>
std::vector<T> read_array(const nb::dict& arrays, const char* name, std::initializer_list<i64> shape) {
    if (!arrays.contains(name)) throw std::invalid_argument(std::string("there is no ") + name);
    Aligned<const T> array;
    if (!nb::try_cast(arrays[name], array, false))
        throw std::invalid_argument(std::string(name) + " has another type than it must have");
    bool fits = array.ndim() == shape.size();
    std::size_t axis = 0;
    for (i64 size : shape) fits = fits && static_cast<i64>(array.shape(axis++)) == size;
    if (!fits) throw std::invalid_argument(std::string(name) + " has another shape than it must have");
    return std::vector<T>(array.data(), array.data() + array.size());
}

inline std::vector<double> finite(std::vector<double> numbers, const char* name, double least = -INF) {
    for (double x : numbers)
        if (!std::isfinite(x) || x < least)
            throw std::invalid_argument(std::string(name) + " holds " + std::to_string(x));
    return numbers;
}

}  // namespace duelist
