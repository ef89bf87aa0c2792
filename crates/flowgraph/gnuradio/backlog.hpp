// Samples that are due at a steady rate and wait for the graph to take them. Follows src/backlog.rs.
#pragma once

#include <algorithm>
#include <cstdint>
#include <deque>
#include <utility>

// Samples one after the other, in thousandths of a sample a second.
struct Steady {
    uint64_t rate;

    // When sample `number`, from 0, is due, in ns after the beginning.
    uint64_t due_ns(uint64_t number) const
    {
        unsigned __int128 per = rate > 0 ? rate : 1;
        return uint64_t((static_cast<unsigned __int128>(number) * 1000000000000u + per - 1) / per);
    }

    // Samples that are due until `at_ns` after the beginning.
    uint64_t due_until(uint64_t at_ns) const
    {
        return uint64_t(static_cast<unsigned __int128>(at_ns) * rate / 1000000000000u) + 1;
    }
};

// The samples of one pipe that have come due. They wait in a queue of bounded length; one that comes due while the
// queue is full is lost.
class Backlog
{
public:
    Backlog(Steady steady, uint64_t total, uint64_t room)
        : steady_(steady), total_(total), room_(std::max<uint64_t>(room, 1))
    {
    }

    void advance(uint64_t at_ns)
    {
        uint64_t due = std::min(steady_.due_until(at_ns), total_);
        if (due <= due_)
            return;
        uint64_t come = due - due_, taken = std::min(come, room_ - length_);
        if (taken > 0) {
            if (!waiting_.empty() && waiting_.back().second == due_)
                waiting_.back().second += taken;
            else
                waiting_.emplace_back(due_, due_ + taken);
            length_ += taken;
            longest_ = std::max(longest_, length_);
        }
        lost_ += come - taken;
        due_ = due;
    }

    // Takes up to `most` samples, oldest first; tells the first and the end of those without a gap between them.
    template <typename Each> uint64_t take(uint64_t most, Each each)
    {
        uint64_t left = most;
        while (left > 0 && !waiting_.empty()) {
            auto& first = waiting_.front();
            uint64_t taken = std::min(first.second - first.first, left), begin = first.first;
            first.first += taken;
            if (first.first == first.second)
                waiting_.pop_front();
            left -= taken;
            each(begin, begin + taken);
        }
        length_ -= most - left;
        return most - left;
    }

    // Gives up what waits: it is lost.
    void abandon()
    {
        lost_ += length_ + (total_ - due_);
        due_ = total_;
        length_ = 0;
        waiting_.clear();
    }

    Steady steady() const { return steady_; }
    uint64_t total() const { return total_; }
    uint64_t length() const { return length_; }
    uint64_t longest() const { return longest_; }
    uint64_t lost() const { return lost_; }
    bool is_over() const { return due_ == total_ && length_ == 0; }
    bool all_came() const { return due_ == total_; }
    uint64_t next_due_ns() const { return steady_.due_ns(due_); }

private:
    Steady steady_;
    uint64_t total_, room_, length_ = 0, due_ = 0, lost_ = 0, longest_ = 0;
    std::deque<std::pair<uint64_t, uint64_t>> waiting_;
};
