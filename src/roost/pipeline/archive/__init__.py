"""The archive: readings of groups as Parquet, signatures included, for years.

| module         | one idea                                                             |
| -------------- | -------------------------------------------------------------------- |
| `folder`       | files that appear whole or not at all, here or in an object store     |
| `layout`       | what an archived reading is as a row, and where its file lies         |
| `covered`      | which numbers of which streams                                        |
| `manifest`     | what counts of a group: its files, and the numbers in them            |
| `writing`      | into the archive, exactly once, whenever it is stopped                |
| `compaction`   | the many small files of a day made few                                |
| `lacking`      | what the repos have and the archive lacks                             |
| `filling`      | everything new from the repos into the archive; again and again       |
| `confirming`   | telling the repos what they may drop                                  |
| `certificates` | what it takes to verify a reading when no repo is left                |
| `verifying`    | whether everything archived still is what was signed                  |
| `rounds`       | the archiver at work: fill, confirm, compact, wait                    |
| `ports`        | what the archive needs of the repos                                   |
| `live`         | a group's repos, as it has them                                       |
| `query`        | history: archive and repos as one table, by numbers                   |
| `sql`          | groups as tables for DuckDB and Spark                                 |
"""
