// Cache-aligned buffers with room for one vector past their end, because kernels read and write whole vectors.
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

// Allocates zeroed memory. Large allocations use huge pages: faulting in the pages of a hundred thousand arms one by
// one would take as long as computing with them.
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
            madvise(p, bytes, MADV_HUGEPAGE);  // a hint to the kernel, which may fall back to small pages
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

    // Value-less construction leaves the memory untouched; AlignedBuffer tracks which part of it is already zero.
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

    // Make room for n entries, with new entries zero. A buffer never shrinks.
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
