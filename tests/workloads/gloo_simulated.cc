/* gloo_simulated.cc: a rank of a data-parallel job over gloo (simulated): in each step it works,
 * two threads of its process group sum its gradients in BUCKETS buckets, in any order, the reducer
 * waits for them, and a barrier ends the step. Rank LATE pauses in each step.
 *
 *   gloo_simulated STEPS BUCKETS LATE
 *
 * RANK and WORLD_SIZE say which rank it is, MEETING in which file the ranks meet.
 */
#include "gloo_simulated.h"

#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <deque>
#include <mutex>
#include <thread>

namespace
{

constexpr long WORK_NS = 500000;
constexpr timespec pause = {0, 6000000};
constexpr size_t ELEMENTS = 1000;

using AsyncWork = c10d::ProcessGroupGloo::AsyncWork;

class AllreduceWork : public AsyncWork
{
      public:
	AllreduceWork(const std::shared_ptr<gloo::Context> &context, uint32_t tag)
	{
		options.context = context;
		options.tag = tag;
		options.elements = ELEMENTS;
		options.elementSize = sizeof(float);
	}
	void run() override
	{
		gloo::allreduce(options);
	}

      private:
	gloo::AllreduceOptions options;
};

class BarrierWork : public AsyncWork
{
      public:
	BarrierWork(const std::shared_ptr<gloo::Context> &context, uint32_t tag)
	{
		options.context = context;
		options.tag = tag;
	}
	void run() override
	{
		gloo::barrier(options);
	}

      private:
	gloo::BarrierOptions options;
};

/* Carries work out on two threads, as torch's process group does. */
class Queue
{
      public:
	Queue()
	{
		for (auto &thread : threads) {
			thread = std::thread([this] { loop(); });
		}
	}
	~Queue()
	{
		put(nullptr);
		put(nullptr);
		for (auto &thread : threads) {
			thread.join();
		}
	}
	void put(AsyncWork *work)
	{
		std::lock_guard<std::mutex> lock(mutex);
		works.push_back(work);
		changed.notify_one();
	}

      private:
	void loop()
	{
		for (;;) {
			std::unique_lock<std::mutex> lock(mutex);
			changed.wait(lock, [this] { return !works.empty(); });
			AsyncWork *work = works.front();
			works.pop_front();
			lock.unlock();
			if (!work) {
				return;
			}
			AsyncWork::execute(c10::intrusive_ptr<AsyncWork>(work));
		}
	}
	std::mutex mutex;
	std::condition_variable changed;
	std::deque<AsyncWork *> works;
	std::thread threads[2];
};

long thread_ns()
{
	timespec time;

	clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
	return time.tv_sec * 1000000000L + time.tv_nsec;
}

void work(long ns)
{
	for (long until_ns = thread_ns() + ns; thread_ns() < until_ns;) {
	}
}

} // namespace

int main(int, char **words)
{
	int steps = atoi(words[1]), buckets = atoi(words[2]), late = atoi(words[3]);
	int rank = atoi(getenv("RANK")), size = atoi(getenv("WORLD_SIZE"));
	auto context = std::make_shared<gloo::rendezvous::Context>(rank, size);
	auto device = std::make_shared<gloo::transport::Device>();
	uint32_t tag = 0;

	context->connectFullMesh(std::make_shared<gloo::rendezvous::Store>(), device);
	Queue queue;
	for (int step = 0; step < steps; step++) {
		std::vector<std::unique_ptr<AllreduceWork>> works;
		c10d::Reducer reducer;
		work(WORK_NS);
		if (rank == late) {
			nanosleep(&pause, nullptr);
		}
		for (int i = 0; i < buckets; i++) {
			works.push_back(std::make_unique<AllreduceWork>(context, tag++));
			reducer.buckets.push_back(works.back().get());
			queue.put(works.back().get());
		}
		reducer.finalize_backward();
		auto barrier = std::make_unique<BarrierWork>(context, tag++);
		queue.put(barrier.get());
		static_cast<c10d::Work *>(barrier.get())->wait(std::chrono::milliseconds(0));
	}
	return 0;
}
