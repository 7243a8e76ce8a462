// What the files that bind the engine to Python share: array types, checks, and arrays that Python owns.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include "player.hpp"

namespace duelist {

namespace nb = nanobind;
using namespace nb::literals;

using Vector = nb::ndarray<const double, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Matrix = nb::ndarray<const double, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Cube = nb::ndarray<const double, nb::ndim<3>, nb::c_contig, nb::device::cpu>;
using Whole = nb::ndarray<const i64, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Words = nb::ndarray<const u64, nb::shape<4>, nb::c_contig, nb::device::cpu>;
using Pairs = nb::ndarray<const i64, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;

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

inline State& known(Player& player) {
    if (!player.state) throw std::invalid_argument("the policy has seen no arms yet");
    return *player.state;
}

inline Layer& layer_of(Player& player, i64 layer) {
    if (layer < 0 || layer >= known(player).n_layers()) throw std::invalid_argument("there is no such layer");
    return player.state->layer(layer);
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

inline Table table_of(Player& player, const Matrix& arms, bool distinct, const PairSet& out) {
    i64 n = static_cast<i64>(arms.shape(0)), dim = static_cast<i64>(arms.shape(1));
    if (n == 0 || dim != known(player).dim) throw std::invalid_argument("the arms do not fit the policy");
    return {arms.data(), n, dim, distinct, out.size() ? &out : nullptr};
}

void bind_state(nb::module_& m);
void bind_simulation(nb::module_& m);
void bind_estimation(nb::module_& m);
void bind_selection(nb::module_& m);
void bind_parts(nb::module_& m);
void bind_numerics(nb::module_& m);

}  // namespace duelist
