// Array types, checks and conversions that the bindings share.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/ndarray.h>

#include <span>
#include <string>
#include <vector>

#include "numerics/random.hpp"
#include "search/arm_table.hpp"

namespace duelist {

namespace nb = nanobind;
using namespace nb::literals;

inline void require(bool condition, const char* message) {
    if (!condition) throw std::invalid_argument(message);
}

inline void require(bool condition, const std::string& message) { require(condition, message.c_str()); }

// -- arguments --------------------------------------------------------------------------------

// A C-contiguous array with aligned data. Other arrays do not match an argument of this type.
template <class... Args>
class AlignedArray : public nb::ndarray<Args..., nb::c_contig, nb::device::cpu> {
public:
    using Plain = nb::ndarray<Args..., nb::c_contig, nb::device::cpu>;
    using Scalar = typename Plain::Scalar;

    AlignedArray() = default;
    explicit AlignedArray(Plain&& array) : Plain(std::move(array)) {}

    bool is_aligned() const {
        return this->size() == 0 || reinterpret_cast<std::uintptr_t>(this->data()) % alignof(Scalar) == 0;
    }
    i64 extent(std::size_t axis) const { return static_cast<i64>(this->shape(axis)); }
    std::span<Scalar> span() const { return {this->data(), this->size()}; }
};

using Vector = AlignedArray<const double, nb::ndim<1>>;
using Matrix = AlignedArray<const double, nb::ndim<2>>;
using Tensor3 = AlignedArray<const double, nb::ndim<3>>;
using Tensor4 = AlignedArray<const double, nb::ndim<4>>;
using Integers = AlignedArray<const i64, nb::ndim<1>>;
using IndexPairs = AlignedArray<const i64, nb::shape<-1, 2>>;
using Words = AlignedArray<const u64, nb::shape<4>>;  // the state of a generator

inline Sfc64 generator(const Words& words) { return Sfc64(std::span<const u64, 4>(words.data(), 4)); }

// A set of pairs of positions below n. Self-pairs are ignored, because `distinct` decides about these.
inline PairSet pair_set(const IndexPairs& pairs, i64 n) {
    PairSet set;
    for (i64 k = 0; k < pairs.extent(0); k++) {
        i64 i = pairs.data()[2 * k], j = pairs.data()[2 * k + 1];
        require(i >= 0 && j >= 0 && i < n && j < n, "An excluded pair has an invalid position.");
        if (i != j) set.add(i, j);
    }
    set.seal();
    return set;
}

// -- results ----------------------------------------------------------------------------------

// A NumPy array that owns a copy of these numbers.
template <class T>
nb::ndarray<nb::numpy, T> to_numpy(const T* numbers, std::initializer_list<i64> shape) {
    std::vector<std::size_t> extents(shape.begin(), shape.end());
    std::size_t n = 1;
    for (std::size_t extent : extents) n *= extent;
    T* cells = new T[n > 0 ? n : 1];
    std::copy(numbers, numbers + n, cells);
    nb::capsule owner(cells, [](void* p) noexcept { delete[] static_cast<T*>(p); });
    return nb::ndarray<nb::numpy, T>(cells, extents.size(), extents.data(), owner);
}

template <class T>
nb::ndarray<nb::numpy, T> to_numpy(const std::vector<T>& numbers) {
    return to_numpy(numbers.data(), {static_cast<i64>(numbers.size())});
}

using FloatArray = nb::ndarray<nb::numpy, double>;
using IntArray = nb::ndarray<nb::numpy, i64>;
using WordArray = nb::ndarray<nb::numpy, u64>;

inline WordArray to_numpy(const Sfc64& random) { return to_numpy(random.words.data(), {4}); }

// An array of any type, in type stubs.
class AnyArray : public nb::object {
    static bool is_any(PyObject*) { return true; }
    NB_OBJECT(AnyArray, nb::object, "numpy.typing.NDArray[typing.Any]", is_any)
};

using ArrayDict = nb::typed<nb::dict, nb::str, AnyArray>;

// -- arrays of a snapshot, which may be damaged -----------------------------------------------

inline i64 length_of(const nb::dict& arrays, const char* name) {
    require(arrays.contains(name), std::string("Array '") + name + "' is missing.");
    return static_cast<i64>(nb::len(nb::object(arrays[name])));
}

// The numbers of an array, which must have this type and shape.
template <class T>
std::vector<T> read_array(const nb::dict& arrays, const char* name, std::initializer_list<i64> shape);

// The numbers, if all are finite and at least `least`.
inline std::vector<double> finite(std::vector<double> numbers, const char* name, double least = -INF) {
    for (double x : numbers)
        if (!std::isfinite(x) || x < least)
            throw std::invalid_argument(std::string("Array '") + name + "' contains " + std::to_string(x) + ".");
    return numbers;
}

inline std::vector<double> read_finite(const nb::dict& arrays, const char* name, std::initializer_list<i64> shape,
                                       double least = -INF) {
    return finite(read_array<double>(arrays, name, shape), name, least);
}

inline Sfc64 read_generator(const nb::dict& arrays) {
    std::vector<u64> words = read_array<u64>(arrays, "words", {4});
    return Sfc64(std::span<const u64, 4>(words.data(), 4));
}

// -- parts of the modules ---------------------------------------------------------------------

void bind_arm_effects(nb::module_& m);
void bind_counting(nb::module_& m);
void bind_estimation(nb::module_& m);
void bind_live_policy(nb::module_& m);
void bind_pair_search(nb::module_& m);
void bind_policy_state(nb::module_& m);
void bind_simulation(nb::module_& m);

// Parts of the module that tests use.
void bind_numerics_for_tests(nb::module_& m);
void bind_search_for_tests(nb::module_& m);

}  // namespace duelist

namespace nanobind::detail {

template <class... Args>
struct type_caster<duelist::AlignedArray<Args...>> {
    using Array = duelist::AlignedArray<Args...>;
    using Plain = typename Array::Plain;
    // Type stubs omit shape and order, because type checkers ignore them.
    NB_TYPE_CASTER(Array, const_name("numpy.ndarray[") + dtype_name<typename Array::Scalar>::name + const_name("]"))

    bool from_python(handle source, std::uint32_t flags, cleanup_list* cleanup) noexcept {
        make_caster<Plain> plain;
        if (!plain.from_python(source, flags, cleanup)) return false;
        value = Array(std::move(plain.value));
        return value.is_aligned();
    }
};

}  // namespace nanobind::detail

namespace duelist {

template <class T>
std::vector<T> read_array(const nb::dict& arrays, const char* name, std::initializer_list<i64> shape) {
    require(arrays.contains(name), std::string("Array '") + name + "' is missing.");
    AlignedArray<const T> array;
    require(nb::try_cast(arrays[name], array, false), std::string("Array '") + name + "' has the wrong type.");
    bool fits = array.ndim() == shape.size();
    std::size_t axis = 0;
    for (i64 extent : shape) fits = fits && array.extent(axis++) == extent;
    require(fits, std::string("Array '") + name + "' has the wrong shape.");
    return std::vector<T>(array.data(), array.data() + array.size());
}

}  // namespace duelist
