/* What the functions of a file cost: to read, in memory, a look-up, and the next time from disk.
 * Beside nm, which reads and sorts the same table, in the same run. Argument: the file. */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "collector/symbol/symbol_table.h"
#include "collector/symbol/table_file.h"
#include "elf/elf_file.h"

#define LOOK_UPS 1000000
#define MS 1e-6

static double now_ns(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return (double)now.tv_sec * 1e9 + (double)now.tv_nsec;
}

static void demand(int holds, const char *what)
{
	if (!holds) {
		fprintf(stderr, "bench_symbols: %s\n", what);
		exit(1);
	}
}

/* Memory of this process that is not of a file's pages, in MB. */
static double memory_mb(void)
{
	unsigned long size, resident = 0, shared = 0;
	FILE *statm = fopen("/proc/self/statm", "re");

	demand(statm && fscanf(statm, "%lu %lu %lu", &size, &resident, &shared) == 3, "no statm");
	fclose(statm);
	return (double)(resident - shared) * (double)sysconf(_SC_PAGESIZE) / 1e6;
}

static struct hk_symbol_table *read_table(const char *path, uint8_t *build_id, size_t *ret_bytes)
{
	struct hk_symbol_table *table;
	struct hk_elf file;

	demand(hk_elf_open(path, &file) == 0, "cannot open the file");
	demand(hk_symbol_table_read(&file, &table) == 0, "cannot read the file");
	*ret_bytes = hk_elf_build_id(&file, build_id);
	hk_elf_close(&file);
	return table;
}

static double nm_ns(const char *path)
{
	char command[4096];
	double start = now_ns();

	snprintf(command, sizeof(command), "nm -n '%s' >/dev/null 2>&1", path);
	demand(system(command) == 0, "nm failed");
	return now_ns() - start;
}

/* Look-ups inside of functions all over the table. */
static double look_up_ns(const struct hk_symbol_table *table)
{
	const struct hk_symbols_content content = hk_symbol_table_content(table);
	uint64_t state = 1;
	double start = now_ns();

	for (int i = 0; i < LOOK_UPS; i++) {
		state = state * 6364136223846793005u + 1442695040888963407u;
		const struct hk_symbol *symbol = &content.symbols[(state >> 33) % content.count];
		const char *name = hk_symbol_table_find(table, symbol->start);
		demand(name == content.names + symbol->name, "a wrong name");
	}
	return (now_ns() - start) / LOOK_UPS;
}

static double from_disk_ns(const struct hk_symbol_table *table, const uint8_t *build_id,
			   size_t bytes, double *ret_store_ns)
{
	struct hk_symbol_table *again;
	int fd = hk_table_files_open();
	double start = now_ns();

	demand(fd >= 0, "no cache directory");
	demand(hk_table_file_store(fd, build_id, bytes, table) == 0, "the table is not stored");
	*ret_store_ns = now_ns() - start;
	start = now_ns();
	demand(hk_table_file_load(fd, build_id, bytes, &again) == 0, "the table is not loaded");
	double took = now_ns() - start;
	demand(hk_symbol_table_content(again).count == hk_symbol_table_content(table).count,
	       "the table is another one");
	hk_symbol_table_free(again);
	close(fd);
	return took;
}

int main(int argc, char **argv)
{
	uint8_t build_id[HK_ELF_BUILD_ID_MOST];
	size_t bytes;
	double store_ns;

	demand(argc == 2, "which file?");
	double before = memory_mb();
	hk_symbol_table_free(read_table(argv[1], build_id, &bytes)); /* warms the disk up */
	nm_ns(argv[1]);
	double start = now_ns();
	struct hk_symbol_table *table = read_table(argv[1], build_id, &bytes);
	double read_ns = now_ns() - start, after = memory_mb(), peer_ns = nm_ns(argv[1]);
	double find_ns = look_up_ns(table);
	double load_ns = from_disk_ns(table, build_id, bytes, &store_ns);

	printf("%s: %zu functions\n", argv[1], hk_symbol_table_content(table).count);
	printf("read %.1f ms, nm -n %.1f ms: %.2f of it; table %.1f MB, resident %.1f MB more\n",
	       read_ns * MS, peer_ns * MS, read_ns / peer_ns,
	       (double)hk_symbol_table_bytes(table) / 1e6, after - before);
	printf("a look-up %.2f us; store %.1f ms, load %.1f ms: %.3f of reading\n", find_ns / 1e3,
	       store_ns * MS, load_ns * MS, load_ns / read_ns);
	hk_symbol_table_free(table);
	demand(read_ns < peer_ns, "reading is slower than nm");
	demand(load_ns < read_ns, "loading is slower than reading");
	return 0;
}
