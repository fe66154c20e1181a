// The walk of weighing.hpp on one thread, as plainly as it can be said: what walks on GPUs are
// compared with.
#include "maxsat/methods/islands/weighing/weighing.hpp"

#include <nanobind/nanobind.h>

#include <algorithm>
#include <cstdint>
#include <utility>
#include <vector>

#include "maxsat/instance.hpp"
#include "maxsat/walker.hpp"

namespace hardscape::maxsat {
namespace {

class WeighingWalk {
 public:
  WeighingWalk(Vector<std::uint32_t> literal, Vector<std::uint32_t> start,
               Vector<std::uint32_t> occurrence, Vector<std::uint32_t> first,
               Vector<std::int32_t> unit, Vector<std::uint64_t> cost, Matrix<std::int32_t> tempers,
               std::uint32_t num_hard, std::int32_t most, std::uint32_t lasting, std::uint64_t seed,
               std::uint64_t stream, Vector<std::uint8_t> initial)
      : literal_(copy(literal)),
        start_(copy(start)),
        occurrence_(copy(occurrence)),
        first_(copy(first)),
        unit_(copy(unit)),
        cost_of_(copy(cost)),
        num_hard_(num_hard),
        most_(most),
        lasting_(lasting),
        stream_(stream),
        random_(RandomStream(seed, stream, kWeighingPurpose).state()),
        value_(copy(initial)),
        score_(value_.size()),
        age_(value_.size()),
        place_(unit_.size()) {
    for (std::size_t t = 0; t < tempers.shape(0); ++t)
      tempers_.push_back({tempers(t, 0), static_cast<std::uint32_t>(tempers(t, 1)), tempers(t, 2),
                          static_cast<std::uint32_t>(tempers(t, 3)),
                          static_cast<std::uint32_t>(tempers(t, 4)),
                          static_cast<std::uint32_t>(tempers(t, 5))});
    renew(true);
  }

  // Does up to so many steps, fewer where an assignment counts at most `target` or `stop` is set;
  // returns how many.
  std::uint64_t run(std::uint64_t steps, std::uint64_t target,
                    nb::ndarray<std::uint8_t, nb::ndim<1>, nb::device::cpu> stop) {
    const volatile std::uint8_t* flag = stop.data();
    nb::gil_scoped_release release;
    std::uint64_t done = 0;
    for (; done < steps && best_cost_ > target && !*flag; ++done) step();
    return done;
  }

  // Goes on from an assignment, as the best.
  void adopt(Vector<std::uint8_t> assignment) {
    value_ = copy(assignment);
    renew(!lasts(stream_, lasting_));
  }

  std::uint64_t steps() const { return steps_; }
  std::uint64_t count() const {
    return violated_[0].empty() ? soft_cost_ : kInfeasible + violated_[0].size();
  }
  std::uint64_t best_cost() const { return best_cost_; }
  std::uint32_t restarts() const { return restarts_; }
  auto best() const { return to_array(std::vector<std::uint8_t>(best_)); }
  auto scores() const { return to_array(std::vector<std::int32_t>(score_)); }

 private:
  static constexpr std::uint32_t kNone = UINT32_MAX;
  using List = std::vector<std::uint32_t>;

  template <class T>
  static std::vector<T> copy(const Vector<T>& from) {
    return std::vector<T>(from.data(), from.data() + from.shape(0));
  }

  // Begins at the assignment, if `afresh` with first search weights.
  void renew(bool afresh) {
    best_ = value_;
    restarts_ = 0;
    improved_at_ = steps_;
    begin(afresh);
    best_cost_ = count();
  }

  bool holds(std::uint32_t l) const { return value_[l >> 1] != (l & 1); }
  bool hard(std::uint32_t c) const { return c < num_hard_; }
  const WeighingTemper& temper() const {
    return tempers_[temper_of(stream_, restarts_, static_cast<std::uint32_t>(tempers_.size()),
                              lasting_)];
  }
  std::uint64_t draw(std::uint32_t which) const { return weighing_draw(random_, steps_, which); }

  void begin(bool afresh) {
    if (afresh) {
      pressure_ = taken_ = first_pressure(temper());
      weight_.resize(unit_.size());
      for (std::uint32_t c = 0; c < unit_.size(); ++c)
        weight_[c] = first_weight(temper(), hard(c), unit_[c], most_);
    }
    std::fill(score_.begin(), score_.end(), 0);
    std::fill(age_.begin(), age_.end(), 0);
    for (List& list : violated_) list.clear();
    soft_cost_ = 0;
    last_ = kNone;
    for (std::uint32_t c = 0; c < unit_.size(); ++c) {
      const auto [trues, sole] = trues_of(c, kNone);
      if (trues == 0) {
        join(c);
        add_to_all(c, weight_[c], kNone);
      } else if (trues == 1) {
        score_[sole] -= weight_[c];
      }
    }
  }

  // How many literals of a clause are true, but for one variable's, and the last one's variable.
  std::pair<std::uint32_t, std::uint32_t> trues_of(std::uint32_t c, std::uint32_t but) const {
    std::uint32_t trues = 0, sole = 0;
    for (std::uint32_t i = start_[c]; i < start_[c + 1]; ++i)
      if (literal_[i] >> 1 != but && holds(literal_[i])) ++trues, sole = literal_[i] >> 1;
    return {trues, sole};
  }

  void add_to_all(std::uint32_t c, std::int32_t by, std::uint32_t but) {
    for (std::uint32_t i = start_[c]; i < start_[c + 1]; ++i)
      if (literal_[i] >> 1 != but) score_[literal_[i] >> 1] += by;
  }

  void join(std::uint32_t c) {
    List& list = violated_[!hard(c)];
    place_[c] = static_cast<std::uint32_t>(list.size());
    list.push_back(c);
    if (!hard(c)) soft_cost_ += cost_of_[c];
  }

  // Takes clauses of one kind from their list, those of one round.
  void leave(bool soft, const List& leaving) {
    List& list = violated_[soft];
    const std::size_t left = list.size() - leaving.size();
    List stays;
    for (std::size_t p = left; p < list.size(); ++p)
      if (std::find(leaving.begin(), leaving.end(), list[p]) == leaving.end())
        stays.push_back(list[p]);
    std::size_t next = 0;
    for (const std::uint32_t c : leaving) {
      if (soft) soft_cost_ -= cost_of_[c];
      if (place_[c] >= left) continue;
      list[place_[c]] = stays[next];
      place_[stays[next++]] = place_[c];
    }
    list.resize(left);
  }

  bool better(std::uint32_t v, std::uint32_t than) const {
    if (than == kNone) return true;
    if (score_[v] != score_[than]) return score_[v] > score_[than];
    return age_[v] != age_[than] ? age_[v] < age_[than] : v < than;
  }

  void step() {
    std::uint32_t x = best_good();
    if (x == kNone) x = escape();
    flip(x);
    ++steps_;
    if (count() < best_cost_) {
      best_cost_ = count();
      best_ = value_;
      improved_at_ = steps_;
    } else if (impatient(temper(), steps_ - improved_at_, restarts_, pressure_)) {
      value_ = best_;
      ++restarts_;
      improved_at_ = steps_;
      begin(true);
    }
  }

  std::uint32_t best_good() const {
    const auto n = static_cast<std::uint32_t>(value_.size()), words = (n + 31) / 32;
    const std::uint32_t shift = pick(draw(kWordDraw) & 0xffffffffu, words);
    const bool random = temper().press && (draw(kChanceDraw) & 0xffffffffu) < kRandomGood;
    std::uint32_t found = kNone;
    for (std::uint32_t lane = 0; lane < kLanes; ++lane) {
      std::uint32_t looked = 0;
      for (std::uint32_t i = lane; i < words && looked < kLooks; i += kLanes) {
        const std::uint32_t word = (i + shift) % words;
        for (std::uint32_t v = 32 * word; v < std::min(n, 32 * word + 32) && looked < kLooks; ++v) {
          if (score_[v] <= 0 || v == last_) continue;
          if (random) return v;
          if (better(v, found)) found = v;
          ++looked;
        }
      }
    }
    return found;
  }

  std::uint32_t escape() {
    const bool firm = !violated_[0].empty();
    const bool dear = best_cost_ < kInfeasible && soft_cost_ >= best_cost_;
    const std::uint64_t windows = draw(kWindowDraw);
    const bool under = temper().press;
    if (firm) grow(violated_[0], windows & 0xffffffffu);
    if (under && (temper().from_zero ? !firm : dear)) press();
    if (!under && (!firm || dear)) grow(violated_[1], windows >> 32);
    const List& list = violated_[!firm];
    if (under && draw(kChanceDraw) >> 32 < kRandomEscape) {
      const std::uint64_t drawn = draw(kOfferDraw);
      const std::uint32_t c = list[pick(drawn & 0xffffffffu, size_of(list))];
      return literal_[start_[c] + pick(drawn >> 32, start_[c + 1] - start_[c])] >> 1;
    }
    std::uint32_t found = kNone;
    for (std::uint32_t t = 0; t < (firm ? 1 : kOffers); ++t) {
      const std::uint64_t low = draw(kOfferDraw + t) & 0xffffffffu;
      const std::uint32_t c = list[pick(low, size_of(list))];
      for (std::uint32_t i = start_[c]; i < start_[c + 1]; ++i)
        if (better(literal_[i] >> 1, found)) found = literal_[i] >> 1;
    }
    return found;
  }

  static std::uint32_t size_of(const List& list) { return static_cast<std::uint32_t>(list.size()); }

  // All soft clauses become heavier alike; where none is hard, that changes nothing.
  void press() {
    pressure_ = more_pressure(temper(), pressure_);
    if (num_hard_ == 0 || !due(pressure_, taken_)) return;
    taken_ = pressure_;
    for (std::uint32_t c = num_hard_; c < unit_.size(); ++c) {
      const std::int32_t next = pressed(pressure_, unit_[c], most_), by = next - weight_[c];
      weight_[c] = next;
      const auto [trues, sole] = trues_of(c, kNone);
      if (trues == 0) add_to_all(c, by, kNone);
      if (trues == 1) score_[sole] -= by;
    }
  }

  // Makes clauses of a list heavier.
  void grow(const List& list, std::uint64_t draw32) {
    const std::uint32_t count = size_of(list);
    if (count == 0) return;
    const std::uint32_t begins = pick(draw32, count), times = (count + kWindow - 1) / kWindow;
    for (std::uint32_t i = 0; i < std::min(count, kWindow); ++i) {
      const std::uint32_t c = list[(begins + i) % count];
      const std::int32_t next = heavier(temper(), hard(c), unit_[c], weight_[c], times, most_);
      add_to_all(c, next - weight_[c], kNone);
      weight_[c] = next;
    }
  }

  void flip(std::uint32_t x) {
    value_[x] ^= 1;
    age_[x] = static_cast<std::uint32_t>(steps_ + 1);
    last_ = x;
    score_[x] = -score_[x];
    const std::uint32_t l = 2 * x + !value_[x];  // true from now on
    const std::uint32_t made = first_[l + 1] - first_[l];
    const std::uint32_t all = made + first_[(l ^ 1) + 1] - first_[l ^ 1];
    for (std::uint32_t base = 0; base < all; base += kLanes) {
      List leaving[2], joining;
      for (std::uint32_t t = base; t < std::min(all, base + kLanes); ++t) {
        const bool makes = t < made;
        const std::uint32_t c = occurrence_[makes ? first_[l] + t : first_[l ^ 1] + t - made];
        const auto [others, sole] = trues_of(c, x);
        if (others > 1) continue;
        const std::int32_t by = makes ? weight_[c] : -weight_[c];
        if (others == 1) {
          score_[sole] += by;
          continue;
        }
        add_to_all(c, -by, x);
        if (makes)
          leaving[!hard(c)].push_back(c);
        else
          joining.push_back(c);
      }
      for (const bool soft : {false, true}) leave(soft, leaving[soft]);
      for (const std::uint32_t c : joining) join(c);
    }
  }

  std::vector<std::uint32_t> literal_;
  std::vector<std::uint32_t> start_, occurrence_, first_;
  std::vector<std::int32_t> unit_;
  std::vector<std::uint64_t> cost_of_;
  std::vector<WeighingTemper> tempers_;
  std::uint32_t num_hard_;
  std::int32_t most_;
  std::uint32_t lasting_;
  std::uint64_t stream_;
  std::uint64_t random_;
  std::vector<std::uint8_t> value_, best_;
  std::vector<std::int32_t> weight_, score_;
  std::vector<std::uint32_t> age_, place_;
  List violated_[2];  // hard, soft
  std::uint64_t soft_cost_ = 0, best_cost_ = 0, steps_ = 0, improved_at_ = 0;
  std::uint64_t pressure_ = 0, taken_ = 0;
  std::uint32_t last_ = kNone, restarts_ = 0;
};

}  // namespace

void bind_weighing(nb::module_& module) {
  nb::class_<WeighingWalk>(module, "WeighingWalk", "Clause-weighting walk, one of many.")
      .def(nb::init<Vector<std::uint32_t>, Vector<std::uint32_t>, Vector<std::uint32_t>,
                    Vector<std::uint32_t>, Vector<std::int32_t>, Vector<std::uint64_t>,
                    Matrix<std::int32_t>, std::uint32_t, std::int32_t, std::uint32_t, std::uint64_t,
                    std::uint64_t, Vector<std::uint8_t>>(),
           nb::arg("literal"), nb::arg("start"), nb::arg("occurrence"), nb::arg("first"),
           nb::arg("unit"), nb::arg("cost"), nb::arg("tempers"), nb::arg("num_hard"),
           nb::arg("most"), nb::arg("lasting"), nb::arg("seed"), nb::arg("stream"),
           nb::arg("initial"))
      .def("run", &WeighingWalk::run, nb::arg("steps"), nb::arg("target"), nb::arg("stop"),
           "Walk; returns the steps done.")
      .def("adopt", &WeighingWalk::adopt, nb::arg("assignment"), "Go on from an assignment.")
      .def_prop_ro("steps", &WeighingWalk::steps, "Steps done, of a flip each.")
      .def_prop_ro("restarts", &WeighingWalk::restarts, "Restarts since the last assignment given.")
      .def_prop_ro("cost", &WeighingWalk::count, "How the assignment counts now.")
      .def_prop_ro("best_cost", &WeighingWalk::best_cost, "How the best one counts.")
      .def("scores", &WeighingWalk::scores, "Score of each variable, int32 of shape (n,).")
      .def("best", &WeighingWalk::best, "The best assignment, uint8 of shape (n,).");
}

}  // namespace hardscape::maxsat
