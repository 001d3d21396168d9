// SPDX-License-Identifier: GPL-2.0-or-later
// The files that somebody drops or chooses, also whole folders with their trees.

/** Paths begin with the name that was dropped or chosen. */
export interface Picked {
  files: { file: File; path: string }[]
  /** Directories without files, which no upload creates. */
  directories: string[]
}

const MOST = 1000
const DEEPEST = 32

function check(picked: Picked, path: string): void {
  const [name] = path.split('/')
  const rest = 'Pack the folder into an archive, upload the archive, and unpack it there.'
  if (picked.files.length + picked.directories.length >= MOST) throw new Error(`You can upload at most ${MOST} files at once. ${rest}`)
  if (path.split('/').length > DEEPEST) throw new Error(`${name} has more than ${DEEPEST} levels of directories. ${rest}`)
}

/** A browser returns the entries of a directory in parts, and then an empty part. */
async function* entriesOf(directory: FileSystemDirectoryEntry): AsyncGenerator<FileSystemEntry> {
  const reader = directory.createReader()
  for (;;) {
    const part = await new Promise<FileSystemEntry[]>((resolve, reject) => reader.readEntries(resolve, reject))
    if (part.length === 0) return
    yield* part
  }
}

async function walk(entry: FileSystemEntry, path: string, picked: Picked): Promise<void> {
  check(picked, path)
  if (entry.isFile) {
    const file = await new Promise<File>((resolve, reject) => (entry as FileSystemFileEntry).file(resolve, reject))
    picked.files.push({ file, path })
    return
  }
  let isEmpty = true
  for await (const below of entriesOf(entry as FileSystemDirectoryEntry)) {
    isEmpty = false
    await walk(below, `${path}/${below.name}`, picked)
  }
  if (isEmpty) picked.directories.push(path)
}

export async function dropped(transfer: DataTransfer): Promise<Picked> {
  const picked: Picked = { files: [], directories: [] }
  // The list is empty when the event is over, so all entries are taken first.
  const all = [...transfer.items].filter(item => item.kind === 'file').map(item => item.webkitGetAsEntry() ?? item.getAsFile())
  for (const one of all) {
    if (one instanceof File) {
      check(picked, one.name)
      picked.files.push({ file: one, path: one.name })
    } else if (one) await walk(one, one.name, picked)
  }
  return picked
}

export function chosen(files: File[]): Picked {
  const picked: Picked = { files: [], directories: [] }
  for (const file of files) {
    const path = file.webkitRelativePath || file.name
    check(picked, path)
    picked.files.push({ file, path })
  }
  return picked
}
