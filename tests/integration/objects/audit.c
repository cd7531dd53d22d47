/* An audit module of the loader's (LD_AUDIT) that has calls of callee_add go elsewhere. */
#include <link.h>
#include <string.h>

unsigned int la_version(unsigned int version)
{
	return version < LAV_CURRENT ? version : LAV_CURRENT;
}

unsigned int la_objopen(struct link_map *map, Lmid_t namespace, uintptr_t *cookie)
{
	(void)map;
	(void)namespace;
	(void)cookie;
	return LA_FLG_BINDTO | LA_FLG_BINDFROM;
}

static long add_nothing(long a, long b)
{
	(void)b;
	return a;
}

uintptr_t la_symbind64(ElfW(Sym) * symbol, unsigned int index, uintptr_t *user, uintptr_t *definer,
		       unsigned int *flags, const char *name)
{
	(void)index;
	(void)user;
	(void)definer;
	(void)flags;
	return strcmp(name, "callee_add") == 0 ? (uintptr_t)add_nothing : symbol->st_value;
}
