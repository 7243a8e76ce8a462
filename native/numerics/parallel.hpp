// Run parts of a computation in threads.
#pragma once

#include <algorithm>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

#include "numerics/elementary.hpp"

namespace duelist {

inline constexpr i64 MAX_THREADS = 256;

// A lock of one object. Copies have their own.
struct InUse {
    mutable std::recursive_mutex mutex;

    InUse() = default;
    InUse(const InUse&) {}
    InUse& operator=(const InUse&) { return *this; }
};

// The number of threads that `pieces` pieces of work can use.
inline i64 usable_threads(i64 threads, i64 pieces) {
    return std::max<i64>(1, std::min({threads, pieces, MAX_THREADS}));
}

// Run part(0), ..., part(parts - 1), each in a thread, and rethrow the first exception.
template <class Part>
void run_in_parts(i64 parts, Part&& part) {
    std::vector<std::exception_ptr> failures(static_cast<std::size_t>(parts));
    auto guarded = [&](i64 k) {
        try {
            part(k);
        } catch (...) {  // an exception must not leave its thread
            failures[static_cast<std::size_t>(k)] = std::current_exception();
        }
    };
    std::vector<std::thread> helpers;
    i64 started = 0;
    try {
        for (; started + 1 < parts; started++) helpers.emplace_back(guarded, started);
    } catch (const std::system_error&) {
        // The system has no more threads, so this one runs the remaining parts.
    }
    for (i64 k = started; k < parts; k++) guarded(k);
    for (std::thread& helper : helpers) helper.join();
    for (const std::exception_ptr& failure : failures)
        if (failure) std::rethrow_exception(failure);
}

}  // namespace duelist
