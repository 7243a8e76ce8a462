// Numbers that start with a cache line and have room for one vector past their end, as the kernels want them.
#pragma once

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <new>
#include <utility>
#include <vector>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "numerics/kernels.hpp"

namespace duelist {

// Memory that is zero when it is new. Where there is much of it, it comes in large pages: to be given a hundred thousand arms
// page by page takes as long as to look at them.
template <class T>
struct AlignedAllocator {
    using value_type = T;
    AlignedAllocator() = default;
    template <class U>
    AlignedAllocator(const AlignedAllocator<U>&) {}

    T* allocate(std::size_t n) {
        std::size_t bytes = n * sizeof(T);
#ifdef __linux__
        if (bytes >= LARGE) {
            void* p = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
            if (p == MAP_FAILED) throw std::bad_alloc();
            madvise(p, bytes, MADV_HUGEPAGE);  // a wish: where it is not granted, small pages do
            return static_cast<T*>(p);
        }
#endif
        return static_cast<T*>(std::memset(::operator new(bytes, std::align_val_t(64)), 0, bytes));
    }
    void deallocate(T* p, std::size_t n) {
#ifdef __linux__
        if (n * sizeof(T) >= LARGE) {
            munmap(p, n * sizeof(T));
            return;
        }
#endif
        ::operator delete(p, std::align_val_t(64));
    }

    // Nothing is written where no value is given: `Buffer` knows what is zero already.
    template <class U>
    void construct(U* p) {
        ::new (static_cast<void*>(p)) U;
    }
    template <class U, class... Values>
    void construct(U* p, Values&&... values) {
        ::new (static_cast<void*>(p)) U(std::forward<Values>(values)...);
    }
    bool operator==(const AlignedAllocator&) const = default;

private:
    static constexpr std::size_t LARGE = std::size_t{4} << 20;
};

template <class T>
class AlignedBuffer {
public:
    AlignedBuffer() = default;
    explicit AlignedBuffer(i64 n) { fit(n); }

    // Room for n entries, zero where new; never less than before.
    T* fit(i64 n) {
        std::size_t before = cells_.size(), wanted = static_cast<std::size_t>(n + LANES);
        if (before >= wanted) return cells_.data();
        bool fresh = wanted > cells_.capacity();
        if (fresh) cells_.reserve(wanted);
        cells_.resize(wanted);
        if (!fresh) std::fill(cells_.begin() + static_cast<std::ptrdiff_t>(before), cells_.end(), T{});
        return cells_.data();
    }
    T* data() { return cells_.data(); }
    const T* data() const { return cells_.data(); }
    T& operator[](i64 k) { return cells_[static_cast<std::size_t>(k)]; }
    const T& operator[](i64 k) const { return cells_[static_cast<std::size_t>(k)]; }

private:
    std::vector<T, AlignedAllocator<T>> cells_;
};

using AlignedDoubles = AlignedBuffer<double>;
using AlignedIndices = AlignedBuffer<i64>;

}  // namespace duelist
