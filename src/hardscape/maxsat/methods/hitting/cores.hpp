// Cores, sets of wishes of which one must be given up, and cheap sets of wishes that hit them all.
#pragma once

#include <algorithm>
#include <array>
#include <bit>
#include <cstdint>
#include <functional>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

namespace hardscape::maxsat {

class Cores {
 public:
  // Of so many wishes at these prices, which must live as long.
  void prepare(const std::vector<std::uint64_t>& price) {
    price_ = &price;
    residue_ = price;
    in_.resize(price.size());
  }

  std::size_t size() const { return start_.size() - 1; }
  // Looks at members of cores, in literals assigned.
  std::uint64_t looked() const { return looked_; }

  // What the cores cost together, each paid for by the least of what is left of its wishes' prices;
  // and what is left of one.
  unsigned __int128 paid() const { return paid_; }
  std::uint64_t residue(std::uint32_t w) const { return residue_[w]; }

  // Pays for a core, and keeps it, unless it is known, or there are too many.
  void add(std::span<const std::uint32_t> core) {
    std::uint64_t paid = UINT64_MAX;
    for (const std::uint32_t w : core) paid = std::min(paid, residue_[w]);
    for (const std::uint32_t w : core) residue_[w] -= paid;
    paid_ += paid;
    std::uint64_t key = 0;
    for (const std::uint32_t w : core)
      key += (w + 1) * 0x9e3779b97f4a7c15ull ^ (w + 1) * 0xbf58476d1ce4e5b9ull >> 17;
    if (members_.size() >= kLiterals || !known_.insert(key).second) return;
    const auto id = static_cast<std::uint32_t>(size());
    for (const std::uint32_t w : core) in_[w].push_back(id);
    members_.insert(members_.end(), core.begin(), core.end());
    std::sort(members_.begin() + start_.back(), members_.end(),
              [&](auto a, auto b) { return price(a) != price(b) ? price(a) < price(b) : a < b; });
    start_.push_back(members_.size());
  }

  // A hitting set: by what `counts` of a wish for each core that is not hit yet, then without what
  // the others hit, too.
  template <class Counts>
  void cover(const Counts& counts, std::vector<std::uint8_t>& hits) {
    hits.assign(in_.size(), 0);
    times_.assign(size(), 0);
    left_.assign(in_.size(), 0);
    chosen_.clear();
    offers_.clear();
    share_.resize(in_.size());
    const auto offer = [&](std::uint32_t w) { return Offer{share_[w] / left_[w], w}; };
    for (std::uint32_t w = 0; w < in_.size(); ++w) {
      left_[w] = static_cast<std::uint32_t>(in_[w].size());
      share_[w] = counts(w);
      if (left_[w]) offers_.push_back(offer(w));
    }
    std::make_heap(offers_.begin(), offers_.end(), std::greater<>());
    // A wish counts more and more for a core, so that one whose offer still holds is the best.
    for (std::size_t unhit = size(); unhit > 0;) {
      std::pop_heap(offers_.begin(), offers_.end(), std::greater<>());
      const auto [counted, best] = offers_.back();
      offers_.pop_back();
      if (left_[best] == 0) continue;
      if (const Offer now = offer(best); now.first > counted) {
        offers_.push_back(now);
        std::push_heap(offers_.begin(), offers_.end(), std::greater<>());
        continue;
      }
      hits[best] = 1;
      chosen_.push_back(best);
      for (const std::uint32_t c : in_[best])
        if (times_[c]++ == 0) {
          --unhit;
          for (const std::uint32_t w : core(c)) --left_[w];
        }
    }
    std::stable_sort(chosen_.begin(), chosen_.end(),
                     [&](auto a, auto b) { return price(a) > price(b); });
    for (const std::uint32_t w : chosen_) {
      if (std::any_of(in_[w].begin(), in_[w].end(), [&](auto c) { return times_[c] == 1; }))
        continue;
      hits[w] = 0;
      for (const std::uint32_t c : in_[w]) --times_[c];
    }
  }

  // Makes a hitting set the cheapest one, where each wish counts its price and as much more, by
  // branch and bound; false where that takes too long, and it is as it was.
  bool lower(std::vector<std::uint8_t>& hits, std::uint64_t more) {
    if (size() == 0) return true;
    if (size() > kMost) return false;
    more_ = more;
    bound_ = 0;
    for (std::uint32_t w = 0; w < hits.size(); ++w)
      if (hits[w]) bound_ += counted(w);
    gather();
    chosen_.clear();
    steps_ = kSteps;
    Set all{};
    for (std::size_t c = 0; c < size(); ++c) all[c / 64] |= std::uint64_t{1} << c % 64;
    const unsigned __int128 before = bound_;
    const bool whole = branch(all, 0);
    looked_ += kSteps - steps_;
    if (!whole || bound_ == before) return whole;
    std::fill(hits.begin(), hits.end(), 0);
    for (const std::uint32_t w : found_) hits[w] = 1;
    return true;
  }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  // Literals of all cores; most cores, and steps, of branch and bound.
  static constexpr std::size_t kLiterals = 1'000'000, kMost = 512, kSteps = 2000;
  using Set = std::array<std::uint64_t, kMost / 64>;  // of cores
  using Offer = std::pair<double, std::uint32_t>;     // what a wish counts for a core, and the wish

  std::uint64_t price(std::uint32_t w) const { return (*price_)[w]; }
  std::uint64_t counted(std::uint32_t w) const { return price(w) + more_; }
  std::span<const std::uint32_t> core(std::uint32_t c) const {
    return {members_.data() + start_[c], start_[c + 1] - start_[c]};
  }

  // The cores by the number of their members that count less than the bound, and what each of
  // these hits.
  void gather() {
    const std::size_t count = size();
    words_ = (count + 63) / 64;
    affordable_.resize(count);
    for (std::uint32_t c = 0; c < count; ++c) {
      const auto members = core(c);
      const auto end = std::partition_point(members.begin(), members.end(),
                                            [&](auto w) { return counted(w) < bound_; });
      affordable_[c] = {members.begin(), end};
      looked_ += affordable_[c].size();
    }
    std::stable_sort(affordable_.begin(), affordable_.end(),
                     [](const auto& a, const auto& b) { return a.size() < b.size(); });
    excluded_.assign(in_.size(), 0);
    place_.assign(in_.size(), kNone);
    hit_.clear();
    cheapest_ = UINT64_MAX;
    for (std::size_t c = 0; c < count; ++c)
      for (const std::uint32_t w : affordable_[c]) {
        if (place_[w] == kNone) {
          place_[w] = static_cast<std::uint32_t>(hit_.size());
          hit_.push_back({});
          cheapest_ = std::min(cheapest_, counted(w));
        }
        hit_[place_[w]][c / 64] |= std::uint64_t{1} << c % 64;
      }
  }

  // Tries the members of the first core that is not hit, the cheap ones first, each without those
  // before it; false where there are no steps left.
  bool branch(const Set& unhit, unsigned __int128 spent) {
    std::size_t word = 0;
    while (!unhit[word]) ++word;
    const auto members =
        affordable_[64 * word + static_cast<std::size_t>(std::countr_zero(unhit[word]))];
    std::size_t tried = 0;
    for (; tried < members.size() && steps_ > 0; ++tried) {
      const std::uint32_t w = members[tried];
      const unsigned __int128 cost = spent + counted(w);
      if (cost >= bound_) break;
      --steps_;
      if (excluded_[w]++) continue;
      Set rest{};
      std::uint64_t any = 0;
      for (std::size_t i = 0; i < words_; ++i) any |= rest[i] = unhit[i] & ~hit_[place_[w]][i];
      if (any && cost + cheapest_ >= bound_) continue;
      chosen_.push_back(w);
      if (any) {
        branch(rest, cost);
      } else {
        bound_ = cost;
        found_ = chosen_;
      }
      chosen_.pop_back();
    }
    for (std::size_t i = 0; i < tried; ++i) --excluded_[members[i]];
    return steps_ > 0;
  }

  const std::vector<std::uint64_t>* price_ = nullptr;
  std::vector<std::uint64_t> residue_;
  std::vector<std::vector<std::uint32_t>> in_;  // cores of a wish
  std::vector<std::uint32_t> members_;
  std::vector<std::size_t> start_{0};
  std::unordered_set<std::uint64_t> known_;  // cores, by a sum
  std::vector<std::uint32_t> left_, times_, chosen_;
  std::vector<Offer> offers_;  // a heap
  std::vector<double> share_;
  // Of branch and bound: members of cores, cores by place, and wishes.
  std::vector<std::span<const std::uint32_t>> affordable_;
  std::vector<Set> hit_;
  std::vector<std::uint32_t> place_, found_, excluded_;
  std::size_t words_ = 0, steps_ = 0;
  std::uint64_t more_ = 0, cheapest_ = 0, looked_ = 0;
  unsigned __int128 bound_ = 0, paid_ = 0;
};

}  // namespace hardscape::maxsat
