/* As much of an MPI library as a tracer asks about a message, with handles as MPICH has them
 * (simulated). Every datatype has SIZE bytes. */

#define RANKS 3
#define WORLD_GROUP 0x48000000

#define GIVE(name, parameters, variable, value) \
	int name parameters;                    \
	int name parameters                     \
	{                                       \
		*(variable) = (value);          \
		return 0;                       \
	}

GIVE(PMPI_Type_size, (int type, int *size), size, type ? SIZE : 0)
GIVE(PMPI_Comm_size, (int comm, int *size), size, comm ? RANKS : 0)
GIVE(PMPI_Comm_remote_size, (int comm, int *size), size, comm ? RANKS : 0)
GIVE(PMPI_Comm_rank, (int comm, int *rank), rank, comm ? 1 : 0)
GIVE(PMPI_Comm_test_inter, (int comm, int *flag), flag, comm ? 0 : 1)
GIVE(PMPI_Comm_group, (int comm, int *group), group, comm ? WORLD_GROUP : 0)
GIVE(PMPI_Group_size, (int group, int *size), size, group ? RANKS : 0)
GIVE(PMPI_Group_free, (int *group), group, 0)

int PMPI_Type_get_envelope(int type, int *integers, int *addresses, int *types, int *how);
int PMPI_Type_get_envelope(int type, int *integers, int *addresses, int *types, int *how)
{
	*integers = *addresses = *types = 0;
	*how = type; /* a type with a name */
	return 0;
}

int PMPI_Group_translate_ranks(int from, int count, const int *ranks, int to, int *out);
int PMPI_Group_translate_ranks(int from, int count, const int *ranks, int to, int *out)
{
	for (int i = 0; i < count; i++) {
		out[i] = from == to ? ranks[i] : -1;
	}
	return 0;
}

int MPI_Comm_dup(int comm, int *newcomm);
int MPI_Comm_dup(int comm, int *newcomm)
{
	*newcomm = comm + 1;
	return !comm;
}

int MPI_Send(const void *data, int count, int type, int to, int tag, int comm);
int MPI_Send(const void *data, int count, int type, int to, int tag, int comm)
{
	return !data || count < 0 || !type || to < 0 || tag < 0 || !comm;
}
