// Which devices the conformance suite runs on. The place to add one.
#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>

#include "engine/devices/conformance.h"
#include "engine/devices/delay.h"
#include "engine/devices/fault.h"
#include "engine/devices/model.h"
#include "engine/devices/null.h"
#include "engine/devices/uring.h"
#include "scheduler/testing/sim_clock.h"

namespace sluice::conformance {
namespace {

class NullBed final : public Testbed {
 public:
  ChannelFactory& channels() override { return factory_; }
  Target target(unsigned) override { return {.device = &device_}; }

 private:
  NullDevice device_{{.size_bytes = kStoreBytes, .logical_block_bytes = 512}};
  NullChannelFactory factory_;
};

/// Another bed behind a decorator.
class DecoratedBed final : public Testbed {
 public:
  using Decorate =
      std::function<std::unique_ptr<ChannelFactory>(std::shared_ptr<ChannelFactory>, const Clock&)>;

  static Result<std::unique_ptr<Testbed>> make(Result<std::unique_ptr<Testbed>> inner,
                                               const Decorate& decorate) {
    if (!inner) return inner.error();
    return std::unique_ptr<Testbed>(
        std::make_unique<DecoratedBed>(std::move(inner.value()), decorate));
  }

  DecoratedBed(std::unique_ptr<Testbed> inner, const Decorate& decorate)
      : inner_(std::move(inner)),
        factory_(decorate({std::shared_ptr<void>(), &inner_->channels()}, clock_)) {}
  ChannelFactory& channels() override { return *factory_; }
  Target target(unsigned store) override { return inner_->target(store); }

 private:
  const std::unique_ptr<Testbed> inner_;
  const std::unique_ptr<ChannelFactory> factory_;
};

DecoratedBed::Decorate delay(const DelayConfig& config) {
  return [=](std::shared_ptr<ChannelFactory> inner, const Clock& clock) {
    return std::make_unique<DelayChannelFactory>(std::move(inner), clock, config);
  };
}

/// Late, but right: what goes wrong by order can't be right here.
DecoratedBed::Decorate lateness() {
  return [](std::shared_ptr<ChannelFactory> inner, const Clock& clock) {
    auto plan = parse_fault_plan("swallow:p=0.02,for=30us+delay:p=0.05,for=10us");
    return std::make_unique<FaultChannelFactory>(std::move(inner), clock, std::move(plan.value()),
                                                 1);
  };
}

/// Quick, so that the suite is; with jitter, so that completions overtake each other.
ModelConfig quick_model() {
  ModelConfig config;
  config.size_bytes = Testbed::kStoreBytes;
  config.channels = 5;
  config.read_ns = 2'000;
  config.write_ns = 1'000;
  config.trim_ns = 3'000;
  config.flush_ns = 4'000;
  config.bytes_per_second = 20 * kGiB;
  config.flush_bytes_per_second = 100 * kGiB;
  config.jitter = 0.8;
  return config;
}

class ModelBed final : public Testbed {
 public:
  enum class Time : std::uint8_t { real, stepped };

  static Result<std::unique_ptr<Testbed>> make(Time time, const ModelConfig& config) {
    auto bed = std::make_unique<ModelBed>(time);
    for (std::unique_ptr<ModelDevice>& device : bed->devices_) {
      Result<std::unique_ptr<ModelDevice>> opened = ModelDevice::open(config);
      if (!opened) return opened.error();
      device = std::move(opened.value());
    }
    return std::unique_ptr<Testbed>(std::move(bed));
  }

  explicit ModelBed(Time time) : time_(time) {}
  ChannelFactory& channels() override { return time_ == Time::real ? real_ : stepped_; }
  Target target(unsigned store) override { return {.device = devices_.at(store).get()}; }
  void pass_time() override { sim_clock_.advance(500); }
  std::uint64_t now_ns() const override {
    return time_ == Time::real ? clock_.now_ns() : sim_clock_.now_ns();
  }

 private:
  const Time time_;
  SimClock sim_clock_;
  ModelChannelFactory real_{clock_};
  ModelChannelFactory stepped_{sim_clock_,
                               [this](std::uint64_t due_ns) { sim_clock_.advance_to(due_ns); }};
  std::array<std::unique_ptr<ModelDevice>, kStores> devices_;
};

/// Files in the folder for temporary ones, gone when closed.
class UringBed final : public Testbed {
 public:
  static Result<std::unique_ptr<Testbed>> make(int flags) {
    auto bed = std::make_unique<UringBed>();
    for (int& fd : bed->fds_) {
      std::string path = testing::TempDir() + "sluice-conformance-XXXXXX";
      const int made = ::mkstemp(path.data());
      if (made < 0) return failure("mkstemp " + path);
      const bool filled =
          ::ftruncate(made, kStoreBytes) == 0 && ::posix_fallocate(made, 0, kStoreBytes) == 0;
      ::close(made);
      fd = ::open(path.c_str(), O_RDWR | O_CLOEXEC | flags);
      const Error error = failure("open " + path);
      ::unlink(path.c_str());
      if (fd < 0 || !filled) return error;
    }
    bed->device_ = std::make_unique<UringDevice>(
        DeviceLimits{.size_bytes = kStoreBytes,
                     .logical_block_bytes = (flags & O_DIRECT) != 0 ? 4096U : 1U},
        DeviceCapabilities{});
    std::string note;
    Result<std::unique_ptr<Channel>> trial = bed->factory_.open(ChannelConfig{}, note);
    if (!trial) return trial.error();  // no io_uring here
    return std::unique_ptr<Testbed>(std::move(bed));
  }

  ~UringBed() override {
    for (const int fd : fds_) {
      if (fd >= 0) ::close(fd);
    }
  }
  ChannelFactory& channels() override { return factory_; }
  Target target(unsigned store) override { return {.device = device_.get(), .fd = fds_.at(store)}; }

 private:
  static Error failure(const std::string& what) {
    const int code = errno;
    return {code, what + ": " + std::strerror(code)};
  }

  std::array<int, kStores> fds_{-1, -1, -1};
  std::unique_ptr<UringDevice> device_;
  UringChannelFactory factory_;
};

}  // namespace

std::vector<DeviceUnderTest> devices_under_test() {
  ModelConfig durable = quick_model();
  durable.write_cache = false;
  ModelConfig crashable = quick_model();
  crashable.crashable = true;
  ModelConfig slower = quick_model();
  slower.delay = {.time_ns = 500, .percent = 30};
  const auto null = [] { return Result<std::unique_ptr<Testbed>>(std::make_unique<NullBed>()); };
  // Holds that are polled for, spun and slept, and none.
  const DelayConfig short_hold{.time_ns = 2'000, .percent = 10};
  const DelayConfig long_hold{.time_ns = 200'000, .ops = SLUICE_delay_ops_write};
  using Time = ModelBed::Time;
  const auto model = [] { return ModelBed::make(Time::real, quick_model()); };
  return {
      {"null", null},
      {"model", model},
      {"model_durable", [=] { return ModelBed::make(Time::stepped, durable); }},
      {.name = "model_crashable",
       .make = [=] { return ModelBed::make(Time::stepped, crashable); },
       .allocates_per_request = true},
      {"uring_direct", [] { return UringBed::make(O_DIRECT); }},
      {"uring_buffered", [] { return UringBed::make(0); }},
      {"model_slower", [=] { return ModelBed::make(Time::stepped, slower); }},
      {"null_delayed", [=] { return DecoratedBed::make(null(), delay(short_hold)); }},
      {"uring_delayed", [=] { return DecoratedBed::make(UringBed::make(0), delay(short_hold)); }},
      {"model_delayed", [=] { return DecoratedBed::make(model(), delay(long_hold)); }},
      {"model_late", [=] { return DecoratedBed::make(model(), lateness()); }},
      {"uring_late", [=] { return DecoratedBed::make(UringBed::make(0), lateness()); }},
  };
}

}  // namespace sluice::conformance
