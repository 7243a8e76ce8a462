// Numbers that start with a cache line and have room for one vector past their end, as the kernels want them.
#pragma once

#include <cstddef>
#include <new>
#include <vector>

#include "kernels.hpp"

namespace duelist {

template <class T>
struct CacheLines {
    using value_type = T;
    CacheLines() = default;
    template <class U>
    CacheLines(const CacheLines<U>&) {}
    T* allocate(std::size_t n) { return static_cast<T*>(::operator new(n * sizeof(T), std::align_val_t(64))); }
    void deallocate(T* p, std::size_t) { ::operator delete(p, std::align_val_t(64)); }
    bool operator==(const CacheLines&) const = default;
};

template <class T>
class Buffer {
public:
    Buffer() = default;
    explicit Buffer(i64 n) { fit(n); }

    // Room for n entries, zero where new; never less than before.
    T* fit(i64 n) {
        if (static_cast<i64>(cells_.size()) < n + LANES) cells_.resize(static_cast<std::size_t>(n + LANES));
        return cells_.data();
    }
    T* data() { return cells_.data(); }
    const T* data() const { return cells_.data(); }
    T& operator[](i64 k) { return cells_[static_cast<std::size_t>(k)]; }
    const T& operator[](i64 k) const { return cells_[static_cast<std::size_t>(k)]; }

private:
    std::vector<T, CacheLines<T>> cells_;
};

using Numbers = Buffer<double>;
using Positions = Buffer<i64>;

}  // namespace duelist
