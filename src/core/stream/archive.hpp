// The state of a learner as bytes, and back: a version, the numbers in the order of `fields`, nothing else.
//
// Little-endian machines only, as the numbers are written as they lie in memory. The file around it is checked for
// damage by a checksum (see streams in Python), but a checksum can be made to fit: whatever the bytes say, a learner
// that has loaded them reads and writes nothing outside its arrays.
#pragma once

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <vector>

#include "stream/learner.hpp"

namespace steelyard {

constexpr std::uint32_t archive_version = 5;  // a state of another version is refused

class Writer {
public:
    std::string bytes;

    template <class T>
    void operator()(const T& x) {
        static_assert(std::is_trivially_copyable_v<T>);
        bytes.append(reinterpret_cast<const char*>(&x), sizeof x);
    }
    template <class T, class A>
    void operator()(const std::vector<T, A>& xs) {
        (*this)(static_cast<std::uint64_t>(xs.size()));
        bytes.append(reinterpret_cast<const char*>(xs.data()), xs.size() * sizeof(T));
    }
};

class Reader {
public:
    Reader(const char* bytes, std::size_t size) : next_(bytes), end_(bytes + size) {}

    template <class T>
    void operator()(T& x) {
        static_assert(std::is_trivially_copyable_v<T>);
        std::memcpy(&x, take(sizeof x), sizeof x);
    }
    void operator()(bool& x) {
        const char byte = *take(1);
        if (byte != 0 && byte != 1)
            throw std::invalid_argument("the saved state is damaged: a flag is neither 0 nor 1");
        x = byte == 1;
    }
    template <class T, class A>
    void operator()(std::vector<T, A>& xs) {
        std::uint64_t size = 0;
        (*this)(size);
        if (size > static_cast<std::uint64_t>(end_ - next_) / sizeof(T))
            throw std::invalid_argument("the saved state ends too early");
        xs.resize(size);
        if (size > 0) std::memcpy(xs.data(), take(size * sizeof(T)), size * sizeof(T));
    }
    void finish() const {
        if (next_ != end_) throw std::invalid_argument("the saved state has more bytes than it should");
    }

private:
    const char *next_, *end_;

    const char* take(std::size_t n) {
        if (static_cast<std::size_t>(end_ - next_) < n) throw std::invalid_argument("the saved state ends too early");
        const char* at = next_;
        next_ += n;
        return at;
    }
};

// Every member of the state, once. `Archive` is a Writer or a Reader, `L` a (const) Learner.
template <class Archive, class L>
void fields(Archive& io, L& learner) {
    auto& s = learner.now;
    io(s.weights.at);
    io(s.duals.tally), io(s.duals.multiplier), io(s.duals.pull), io(s.duals.gradient), io(s.duals.looked_at),
        io(s.duals.level);
    io(s.history.marks), io(s.history.every), io(s.history.next);
    io(s.warmup.rows), io(s.warmup.entries), io(s.warmup.squares), io(s.warmup.peak), io(s.warmup.count);
    io(s.t), io(s.held), io(s.again), io(s.clock), io(s.eta), io(s.until);
    io(s.estimating), io(s.epoch_left), io(s.epoch_length), io(s.settled), io(s.settled_b);
    auto& r = learner.reservoir;
    io(r.counters);
    io(r.kept.bytes);
    for (int side = 0; side < 2; ++side) io(r.kept.places[side]), io(r.kept.weight[side]);
}

inline std::string save(const Learner& learner) {
    Writer io;
    io(archive_version);
    io(learner.now.weights.is_side_by_side()), io(learner.now.weights.saved());
    fields(io, learner);
    for (const auto* nest : {&learner.now.duals.objective, &learner.now.duals.denominator})
        if (*nest) io((*nest)->started), io((*nest)->total), io((*nest)->frames());
    return std::move(io.bytes);
}

// Whether the numbers that sizes and places depend on fit together.
inline bool is_sound(Learner& learner) {
    State& s = learner.now;
    const auto d = static_cast<std::size_t>(learner.n_cols());
    if (s.warmup.peak.size() != d || s.warmup.count.size() != d) return false;
    if (s.history.marks.size() % History::width != 0 || s.history.marks.size() > History::most * History::width)
        return false;
    if (s.until < 1 || s.until > learner.is.refresh || (!s.settled.empty() && s.settled.size() != d)) return false;
    constexpr std::int64_t most = std::int64_t{1} << 62;  // rows of any stream, with room for the next draw
    const auto& c = learner.reservoir.counters;
    for (int side = 0; side < 2; ++side) {
        if (c.accepted[side] < 0 || c.accepted[side] >= c.next[side] || c.next[side] > most) return false;
        if (c.offered[side] < c.accepted[side] || c.offered[side] > most || !(c.largest[side] >= 0.0)) return false;
        if (c.largest[side] > 1.0) return false;
        const auto kept = static_cast<std::int64_t>(learner.reservoir.kept.places[side].size());
        if (kept != std::min<std::int64_t>(c.accepted[side], learner.is.capacity[side])) return false;
    }
    return learner.reservoir.kept.is_sound(learner.n_cols());
}

// Throws std::invalid_argument, and leaves the learner as it was, if the bytes are not those of a learner made like
// this one.
inline void load(Learner& learner, const char* bytes, std::size_t size) {
    Learner fresh = learner;
    Reader io(bytes, size);
    std::uint32_t version = 0;
    io(version);
    if (version != archive_version) throw std::invalid_argument("the saved state is of another version of steelyard");
    bool side_by_side = false;
    LargeVector<double> numbers;
    io(side_by_side), io(numbers);
    if (!fresh.now.weights.take(std::move(numbers), side_by_side))
        throw std::invalid_argument("the saved state is of another number of features");
    fields(io, fresh);
    for (auto* nest : {&fresh.now.duals.objective, &fresh.now.duals.denominator})
        if (*nest) {
            std::vector<double> frames;
            const std::size_t stages = (*nest)->total.size();
            io((*nest)->started), io((*nest)->total), io(frames);
            if ((*nest)->total.size() != stages || frames.size() != 5 * stages)
                throw std::invalid_argument("the saved state is of another measure");
            (*nest)->set_frames(frames);
        }
    io.finish();
    if (!is_sound(fresh)) throw std::invalid_argument("the saved state is damaged: its parts do not fit together");
    learner = std::move(fresh);
}

}  // namespace steelyard
