// SPDX-License-Identifier: GPL-2.0-or-later
// A tree of files: directories open in place, files come and go by button or by dropping.
import { useCallback, useEffect, useRef, useState } from 'preact/hooks'
import { ApiError, isAbort, messageOf } from '../lib/errors'
import { formatBytes } from '../lib/format'
import { ACTIONS, Button, Empty, Loading, Problem, Table, TextField, TimeCell } from '../parts/basic'
import { CloseButton, Dialog, FormDialog, ask, say, useAction } from '../parts/dialog'
import { Icon } from '../parts/icon'
import { chosen, dropped, type Picked } from './folders'
import { joined, parentOf, type Entry, type FileStore } from './store'
import { UploadList, useUploads } from './uploads'

const EDIT_MAX = 512 * 1024
/** So many entries of a directory are drawn, and as many more on demand. */
const A_PART = 500

const TAKEN = 'The directory has this name already.'

const tell = (error: unknown): void => say(messageOf(error), true)

type Listing = { entries: Entry[] | null; error: unknown }
type Asked = { kind: 'file' | 'directory'; in: string } | { kind: 'rename'; entry: Entry } | { kind: 'edit'; path: string }

function useTree(store: FileStore, root: string) {
  const [listings, setListings] = useState<Map<string, Listing>>(new Map())
  const [open, setOpen] = useState<Set<string>>(new Set())
  const opened = useRef(open)
  opened.current = open
  const abort = useRef(new AbortController())

  /** Loads a directory, and returns the names in it. */
  const namesIn = useCallback(
    async (path: string): Promise<Set<string>> => {
      const entries = await store.list(path, abort.current.signal)
      setListings(before => new Map(before).set(path, { entries, error: null }))
      return new Set(entries.map(entry => entry.name))
    },
    [store],
  )
  const load = useCallback(
    async (path: string): Promise<void> => {
      try {
        await namesIn(path)
      } catch (error) {
        if (!isAbort(error))
          setListings(before => new Map(before).set(path, { entries: before.get(path)?.entries ?? null, error }))
      }
    },
    [namesIn],
  )
  /** Programs and other people create files, too: an existing one would be replaced. */
  const checkFree = async (path: string): Promise<void> => {
    const names = await namesIn(parentOf(path))
    if (names.has(path.slice(path.lastIndexOf('/') + 1))) throw new Error(TAKEN)
  }
  useEffect(() => {
    abort.current = new AbortController()
    setListings(new Map())
    setOpen(new Set())
    void load(root)
    return () => abort.current.abort()
  }, [store, root, load])

  const toggle = (path: string): void => {
    const next = new Set(open)
    if (next.delete(path)) {
      setOpen(next)
      return
    }
    setOpen(next.add(path))
    void load(path)
  }
  const reload = (path: string): void => {
    if (path === root || open.has(path)) void load(path)
  }
  const reloadAll = (): void => {
    for (const path of [root, ...opened.current]) void load(path)
  }
  return { listings, open, toggle, reload, reloadAll, namesIn, checkFree }
}

function NameDialog(props: {
  title: string
  action: string
  name: string
  /** Names that exist in the directory. The agent overwrites an existing file without an error. */
  taken: Set<string>
  onClose: () => void
  done: (name: string) => Promise<void>
}) {
  const [name, setName] = useState(props.name)
  const isOther = name !== props.name
  const bad =
    name === '.' || name === '..' || name.includes('/')
      ? 'A name cannot contain “/”, and cannot be “.” or “..”.'
      : isOther && props.taken.has(name)
        ? TAKEN
        : null
  return (
    <FormDialog
      title={props.title}
      action={props.action}
      disabled={bad !== null || name === '' || !isOther}
      onClose={props.onClose}
      submit={async () => {
        await props.done(name)
        props.onClose()
      }}
    >
      <TextField
        label="Name"
        mono
        required
        autoFocus
        value={name}
        onInput={setName}
        error={bad}
      />
    </FormDialog>
  )
}

/** A text area has "\n" only. A saved file has the line ends that its first line had. */
const lineEndOf = (text: string): string => /\r\n|\r|\n/.exec(text)?.[0] ?? '\n'

function EditDialog(props: { store: FileStore; path: string; mayWrite: boolean; onClose: () => void; onSaved: () => void }) {
  const [text, setText] = useState<string | null>(null)
  const [failure, setFailure] = useState<unknown>(null)
  const { busy, error, run } = useAction()
  const area = useRef<HTMLTextAreaElement>(null)
  const stored = useRef<string | null>(null)
  const read = async (signal: AbortSignal): Promise<string> => {
    const bytes = await (await props.store.read(props.path, signal)).arrayBuffer()
    return new TextDecoder('utf-8', { fatal: true, ignoreBOM: true }).decode(bytes)
  }
  /** Programs and other people change files, too. null: the file has no text any more. */
  const checkStored = async (): Promise<void> => {
    const now = await read(new AbortController().signal).catch((why: unknown) => {
      if (why instanceof TypeError || (why instanceof ApiError && why.status === 404)) return null
      throw why
    })
    const before = stored.current
    stored.current = now
    if (now !== before) throw new Error('The file has changed since you opened it. To replace it by your text, save again')
  }
  useEffect(() => {
    const abort = new AbortController()
    read(abort.signal)
      .then(found => setText((stored.current = found)))
      .catch((why: unknown) => {
        if (!isAbort(why)) setFailure(why instanceof TypeError ? new Error('This file is not text in UTF-8') : why)
      })
    return () => abort.abort()
  }, [])
  useEffect(() => area.current?.focus(), [text === null])
  return (
    <Dialog title={props.path} wide onClose={props.onClose}>
      <form
        onSubmit={event => {
          event.preventDefault()
          void run(async () => {
            await checkStored()
            await props.store.write(props.path, (area.current?.value ?? '').replaceAll('\n', lineEndOf(text ?? '')))
            props.onSaved()
            props.onClose()
          })
        }}
      >
        <Problem error={failure ?? error} />
        {text === null && !failure && <Loading />}
        {text !== null && (
          <textarea ref={area} class="mono editor" aria-label={`Contents of ${props.path}`} rows={20} spellcheck={false} readOnly={!props.mayWrite}>
            {text}
          </textarea>
        )}
        <div class="actions end">
          <CloseButton>Close</CloseButton>
          {props.mayWrite && (
            <Button type="submit" kind="primary" busy={busy} disabled={text === null}>
              Save
            </Button>
          )}
        </div>
      </form>
    </Dialog>
  )
}

function EntryRow(props: {
  entry: Entry
  depth: number
  open: boolean
  mayWrite: boolean
  packs: boolean
  packing: boolean
  onToggle: () => void
  onEnter: () => void
  onDownload: () => void
  onEdit: () => void
  onRename: () => void
  onRemove: () => void
}) {
  const { entry } = props
  const directory = entry.type === 'directory'
  const target = entry.target && <span class="muted"> → {entry.target}</span>
  return (
    <tr data-directory={directory ? entry.path : parentOf(entry.path)}>
      <th scope="row" class="tree-name">
        <span class="indent" style={{ paddingInlineStart: `${props.depth * 1.25}rem` }} />
        {directory ? (
          <button
            type="button"
            class="plain-button"
            aria-expanded={props.open}
            aria-label={`${entry.name}, directory`}
            disabled={entry.raw}
            onClick={props.onToggle}
            onDblClick={props.onEnter}
          >
            <span class="twist" aria-hidden="true">
              {props.open ? '▾' : '▸'}
            </span>
            <Icon name="folder" />
            <span class="file-name">{entry.name}/</span>
            {target}
          </button>
        ) : (
          <span class="leaf">
            <Icon name={entry.target ? 'link' : 'file'} />
            <span class="file-name">{entry.name}</span>
            {target}
          </span>
        )}
      </th>
      <td class="number nowrap">{directory ? '' : formatBytes(entry.size)}</td>
      <TimeCell at={entry.modified} />
      <td>
        <code>{entry.mode}</code>
      </td>
      <td class="row-actions">
        {entry.type === 'file' && !entry.raw && entry.size <= EDIT_MAX && (
          <Button small label={`${props.mayWrite ? 'Edit' : 'Read'} ${entry.name}`} onClick={props.onEdit}>
            {props.mayWrite ? 'Edit' : 'Read'}
          </Button>
        )}
        {(entry.type === 'file' || (directory && props.packs)) && !entry.raw && (
          <Button
            small
            label={`Download ${entry.name}`}
            disabled={directory && props.packing}
            onClick={props.onDownload}
          >
            Download
          </Button>
        )}
        {props.mayWrite && !entry.raw && (
          <>
            <Button small label={`Rename ${entry.name}`} onClick={props.onRename}>
              Rename
            </Button>
            <Button small label={`Delete ${entry.name}`} onClick={props.onRemove}>
              Delete
            </Button>
          </>
        )}
      </td>
    </tr>
  )
}

export function FileBrowser(props: { store: FileStore; mayWrite: boolean }) {
  const { store, mayWrite } = props
  const [root, setRoot] = useState(store.home)
  const [typed, setTyped] = useState(store.home)
  const [over, setOver] = useState<string | null>(null)
  const [asked, setAsked] = useState<Asked | null>(null)
  const [parts, setParts] = useState<ReadonlyMap<string, number>>(new Map())
  const [packing, setPacking] = useState<{ name: string; abort: AbortController } | null>(null)
  useEffect(() => () => packing?.abort.abort(), [packing, store])
  const tree = useTree(store, root)
  const uploads = useUploads(store, tree.reloadAll)
  const picker = useRef<HTMLInputElement>(null)
  const top = tree.listings.get(root)
  const shownIn = (directory: string): Set<string> =>
    new Set(tree.listings.get(directory)?.entries?.map(entry => entry.name))

  const enter = (path: string): void => {
    setRoot(path)
    setTyped(path)
  }
  const start = async ({ files, directories }: Picked, directory: string): Promise<void> => {
    uploads.add(files, directory)
    for (const path of directories)
      await store.makeDirectory(joined(directory, path)).catch((error: unknown) => {
        if (!(error instanceof ApiError && error.code === 'already_exists')) throw error
      })
    if (directories.length > 0) tree.reloadAll()
  }
  const add = async (picked: Picked, directory: string): Promise<void> => {
    const paths = [...picked.files.map(one => one.path), ...picked.directories]
    if (paths.length === 0) return
    const there = await tree.namesIn(directory).catch((error: unknown) => {
      if (error instanceof ApiError && error.status === 404) return new Set<string>() // An upload creates it.
      throw error
    })
    const names = new Set(paths.map(path => path.split('/')[0] ?? ''))
    const known = [...names].filter(name => there.has(name))
    const begin = (): Promise<void> => start(picked, directory)
    if (known.length === 0) await begin()
    else
      ask(
        known.length === 1 ? `Replace ${known[0]}?` : `Replace ${known.length} names?`,
        `${directory} already has ${known.join(', ')}. An upload into a directory replaces only the files that have the same names.`,
        'Replace',
        begin,
      )
  }
  /** folder: the browser's own dialog chooses a folder, not files. */
  const pick = (folder: boolean): void => {
    if (!picker.current) return
    picker.current.webkitdirectory = folder
    picker.current.click()
  }
  const download = (entry: Entry): void => {
    const abort = new AbortController()
    const packs = entry.type === 'directory'
    if (packs) setPacking({ name: entry.name, abort })
    const done = packs ? store.downloadDirectory?.(entry, abort.signal) : store.download(entry)
    done
      ?.catch((error: unknown) => {
        if (!isAbort(error)) tell(error)
      })
      .finally(() => setPacking(now => (now?.abort === abort ? null : now)))
  }
  const remove = (entry: Entry): void =>
    ask(
      `Delete ${entry.name}?`,
      entry.type === 'directory' ? 'This deletes all files in it.' : 'You cannot undo this.',
      'Delete',
      async () => {
        await store.remove(entry.path)
        tree.reload(parentOf(entry.path))
      },
    )
  const directoryAt = (event: DragEvent): string =>
    (event.target as Element | null)?.closest<HTMLElement>('[data-directory]')?.dataset.directory ?? root

  const rows = (path: string, depth: number): preact.ComponentChildren[] => {
    const listing = tree.listings.get(path)
    if (!listing?.entries) return []
    const drawn = parts.get(path) ?? A_PART
    const all = listing.entries.slice(0, drawn).flatMap(entry => {
      const open = entry.type === 'directory' && tree.open.has(entry.path)
      const below = tree.listings.get(entry.path)
      return [
        <EntryRow
          key={entry.path}
          entry={entry}
          depth={depth}
          open={open}
          mayWrite={mayWrite}
          packs={store.downloadDirectory !== undefined}
          packing={packing !== null}
          onToggle={() => tree.toggle(entry.path)}
          onEnter={() => enter(entry.path)}
          onDownload={() => download(entry)}
          onEdit={() => setAsked({ kind: 'edit', path: entry.path })}
          onRename={() => setAsked({ kind: 'rename', entry })}
          onRemove={() => remove(entry)}
        />,
        ...(open && below?.error
          ? [
              <tr key={`${entry.path} error`}>
                <td colSpan={5} class="field-error">
                  {messageOf(below.error)}
                </td>
              </tr>,
            ]
          : []),
        ...(open ? rows(entry.path, depth + 1) : []),
      ]
    })
    if (listing.entries.length <= drawn) return all
    return [
      ...all,
      <tr key={`${path} more`}>
        <td colSpan={5}>
          <Button small onClick={() => setParts(new Map(parts).set(path, drawn + A_PART))}>
            Show more of {path}
          </Button>
        </td>
      </tr>,
    ]
  }
  return (
    <section
      class={over === null ? 'card files' : 'card files dropping'}
      aria-label="Files"
      onDragOver={event => {
        if (!mayWrite) return
        event.preventDefault()
        setOver(directoryAt(event))
      }}
      onDragLeave={event => {
        if (!(event.currentTarget as Element).contains(event.relatedTarget as Node | null)) setOver(null)
      }}
      onDrop={event => {
        event.preventDefault()
        setOver(null)
        const directory = directoryAt(event)
        if (mayWrite && event.dataTransfer) dropped(event.dataTransfer).then(picked => add(picked, directory)).catch(tell)
      }}
    >
      <div class="card-head">
        <form
          class="path-form"
          onSubmit={event => {
            event.preventDefault()
            enter(typed.startsWith('/') ? typed : joined(root, typed))
          }}
        >
          <label for="files-path">Directory</label>
          <input
            id="files-path"
            class="mono"
            value={typed}
            spellcheck={false}
            autoComplete="off"
            onInput={event => setTyped(event.currentTarget.value)}
          />
          <Button small type="submit">
            Go
          </Button>
          <Button small disabled={root === '/'} onClick={() => enter(parentOf(root))}>
            Up
          </Button>
          <Button small icon="refresh" onClick={tree.reloadAll}>
            Refresh
          </Button>
        </form>
        {mayWrite && (
          <div class="actions">
            <Button small icon="folder" onClick={() => setAsked({ kind: 'directory', in: root })}>
              New directory
            </Button>
            <Button small icon="file" onClick={() => setAsked({ kind: 'file', in: root })}>
              New file
            </Button>
            <Button small icon="up" onClick={() => pick(true)}>
              Upload a folder
            </Button>
            <Button small kind="primary" icon="up" onClick={() => pick(false)}>
              Upload
            </Button>
            <input
              ref={picker}
              type="file"
              multiple
              hidden
              aria-label="Files to upload"
              onChange={event => {
                const files = [...(event.currentTarget.files ?? [])]
                void (async () => add(chosen(files), root))().catch(tell)
                event.currentTarget.value = ''
              }}
            />
          </div>
        )}
      </div>
      {over !== null && <p class="drop-hint">Drop to upload into {over}</p>}
      <UploadList uploads={uploads} />
      {packing && (
        <p class="note" role="status">
          Packing {packing.name}; then its download starts.{' '}
          <Button small label={`Stop packing ${packing.name}`} onClick={() => packing.abort.abort()}>
            Cancel
          </Button>
        </p>
      )}
      {top?.error ? <Problem error={top.error} /> : null}
      {!top && <Loading />}
      {top?.entries?.length === 0 && (
        <Empty title="This directory is empty">{mayWrite && <p>Drop files or folders here to upload them.</p>}</Empty>
      )}
      {top?.entries && top.entries.length > 0 && (
        <Table
          label="Files"
          dense
          head={['Name', 'Size', 'Changed', 'Permissions', ACTIONS]}
        >
          {rows(root, 0)}
        </Table>
      )}
      {asked?.kind === 'edit' && (
        <EditDialog
          store={store}
          path={asked.path}
          mayWrite={mayWrite}
          onClose={() => setAsked(null)}
          onSaved={() => {
            say('Saved.')
            tree.reload(parentOf(asked.path))
          }}
        />
      )}
      {(asked?.kind === 'file' || asked?.kind === 'directory') && (
        <NameDialog
          title={asked.kind === 'file' ? 'New file' : 'New directory'}
          action="Create"
          name=""
          taken={shownIn(asked.in)}
          onClose={() => setAsked(null)}
          done={async name => {
            const path = joined(asked.in, name)
            await tree.checkFree(path)
            await (asked.kind === 'file' ? store.write(path, '') : store.makeDirectory(path))
            tree.reload(asked.in)
          }}
        />
      )}
      {asked?.kind === 'rename' && (
        <NameDialog
          title={`Rename ${asked.entry.name}`}
          action="Rename"
          name={asked.entry.name}
          taken={shownIn(parentOf(asked.entry.path))}
          onClose={() => setAsked(null)}
          done={async name => {
            const directory = parentOf(asked.entry.path)
            await tree.checkFree(joined(directory, name))
            await store.move(asked.entry.path, joined(directory, name))
            tree.reload(directory)
          }}
        />
      )}
    </section>
  )
}
