#include "tensor/digest.h"

#include <string.h>

/* Random odd numbers with about as many ones as zeros. */
#define MIX_A 0xee1a6c9402d67513ull
#define MIX_B 0x1921b3c4e5d819f1ull
#define MIX_C 0xd144895c3c49c1fbull

const uint64_t hk_digest_keys[HK_DIGEST_LANES] = {
    0x1421c5c28f0eaebbull, 0x1ae2488d69c497c3ull, 0x443d7270ceb6149dull, 0x5b35482af9941353ull,
    0xc75c520935d976cfull, 0x140ffb78f150a765ull, 0xf4e7e155d282155full, 0xf21a454d82ec5d6bull,
};

/* Every bit of X changes about half of the result's; no two X have the same. */
static uint64_t mix(uint64_t x)
{
	x = (x ^ x >> 32) * MIX_A;
	x = (x ^ x >> 29) * MIX_B;
	return x ^ x >> 31;
}

static uint64_t rotate(uint64_t x, unsigned bits)
{
	return x << bits | x >> (64 - bits);
}

static uint64_t mix_lanes(const struct hk_digest_lanes *lanes)
{
	uint64_t sum = 0;

	for (int i = 0; i < HK_DIGEST_LANES; i++) {
		sum += mix(lanes->product[i] + hk_digest_keys[i]);
		sum += mix(lanes->plain[i] ^ rotate(hk_digest_keys[i], 23));
	}
	return sum;
}

void hk_digest_start(struct hk_digest *digest)
{
	digest->state = MIX_C;
}

void hk_digest_add_rest(struct hk_digest_lanes *lanes, const struct hk_kernels *kernels,
			size_t done, const void *rest, size_t bytes)
{
	uint8_t padded[HK_CHUNK] = {0};

	memcpy(padded, rest, bytes);
	kernels->digest(padded, done * (HK_CHUNK / HK_STRIPE), (bytes + HK_STRIPE - 1) / HK_STRIPE,
			lanes);
}

void hk_digest_add(struct hk_digest *digest, const struct hk_digest_lanes *lanes)
{
	digest->state = mix(rotate(digest->state, 27) * MIX_C + mix_lanes(lanes));
}

uint64_t hk_digest_end(const struct hk_digest *digest, uint64_t count, enum hk_dtype dtype)
{
	return mix(mix(digest->state ^ count * MIX_B) + (uint64_t)dtype * MIX_C);
}
