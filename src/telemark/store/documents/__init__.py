"""The small JSON documents of runs, campaigns and the cache: one typed reader, one atomic writer, one file each."""
