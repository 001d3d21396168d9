// SPDX-License-Identifier: GPL-2.0-or-later
import { useRef, useState } from 'preact/hooks'
import { ApiError, api, type Schemas } from '../lib/client'
import { messageOf } from '../lib/errors'
import { useIdempotencyKey } from '../lib/idempotency'
import { usePoll } from '../lib/poll'
import { navigate, useTitle } from '../lib/router'
import { useMayWrite, useTeam } from '../lib/session'
import { ACTIONS, AreaField, Button, Empty, Id, Loading, NewButton, Page, Problem, SelectField, State, Table, TextField, TimeCell, type Choice } from '../parts/basic'
import { FormDialog, ask, say, useAction } from '../parts/dialog'
import { Rows } from '../parts/rows'

type Version = Schemas['TemplateVersion']

/** The sources of a version, by their names in the API. */
const KINDS = {
  dockerfile: 'A Dockerfile',
  from_image: 'An OCI image from a registry',
  checkpoint_id: 'A checkpoint of the team',
  image: 'An image that the operator has allowed',
}

interface Source {
  kind: keyof typeof KINDS
  value: string
  cpu: string
  memory: string
}

const CHECKPOINTS_MS = 8000
const FIRST: Source = { kind: 'dockerfile', value: '', cpu: '', memory: '' }

function bodyOf(source: Source): Schemas['CreateTemplateVersion'] {
  const baseline = {
    ...(source.cpu ? { cpu: Number(source.cpu) } : {}),
    ...(source.memory ? { memory_mb: Number(source.memory) } : {}),
  }
  return {
    [source.kind]: source.value,
    ...(Object.keys(baseline).length > 0 ? { runtime_baseline: baseline } : {}),
  }
}

function SourceFields(props: { team: string; source: Source; onChange: (source: Source) => void }) {
  const { source } = props
  const set = (part: Partial<Source>): void => props.onChange({ ...source, ...part })
  const checkpoints = usePoll(
    signal => api.get('/v1/checkpoints', { query: { team: props.team, limit: 200 }, signal }),
    CHECKPOINTS_MS,
    [props.team],
  )
  const choices: Choice[] = [
    { value: '', text: checkpoints.data?.checkpoints.length === 0 ? 'The team has no checkpoint yet' : 'Choose one' },
    ...(checkpoints.data?.checkpoints ?? []).map(one => ({ value: one.id, text: `${one.name} (${one.template})` })),
  ]
  return (
    <>
      <Problem error={checkpoints.error} />
      <SelectField
        label="Source"
        value={source.kind}
        choices={Object.entries(KINDS).map(([value, text]) => ({ value, text }))}
        onChange={kind => set({ kind: kind as Source['kind'], value: '' })}
      />
      {source.kind === 'checkpoint_id' && (
        <SelectField label="Checkpoint" member="checkpoint_id" required value={source.value} choices={choices} onChange={value => set({ value })} />
      )}
      {source.kind === 'dockerfile' && (
        <AreaField
          label="Dockerfile"
          member="dockerfile"
          rows={10}
          value={source.value}
          onInput={value => set({ value })}
          hint={
            <>
              To copy files into it, run <code>sandlot template build</code> in their folder.
            </>
          }
        />
      )}
      {(source.kind === 'image' || source.kind === 'from_image') && (
        <TextField label="Image" member={source.kind} mono required value={source.value} onInput={value => set({ value })} />
      )}
      <div class="two">
        <TextField label="Processors" type="number" min={1} value={source.cpu} placeholder="Default" onInput={cpu => set({ cpu })} />
        <TextField label="Memory, MiB" type="number" min={1} value={source.memory} placeholder="Default" onInput={memory => set({ memory })} />
      </div>
    </>
  )
}

function CreateDialog(props: { team: string; onClose: () => void }) {
  const [slug, setSlug] = useState('')
  const [source, setSource] = useState(FIRST)
  const keyOf = useIdempotencyKey()
  return (
    <FormDialog
      title="New template"
      action="Build the template"
      onClose={props.onClose}
      submit={async () => {
        const body = { slug, team: props.team, ...bodyOf(source) }
        await api.post('/v1/templates', { body, idempotencyKey: keyOf(body) })
        props.onClose()
        navigate(`/templates/${slug}`)
      }}
    >
      <TextField label="Name" member="slug" mono required autoFocus value={slug} onInput={setSlug} hint="Lower-case letters, digits and hyphens." />
      <SourceFields team={props.team} source={source} onChange={setSource} />
    </FormDialog>
  )
}

export function Templates() {
  const team = useTeam()
  const mayWrite = useMayWrite()
  const [making, setMaking] = useState(false)
  const polled = usePoll(signal => api.get('/v1/templates', { query: { team: team.slug }, signal }), 10_000, [team.slug])
  const templates = polled.data?.templates ?? []
  const create = mayWrite && <NewButton what="template" onClick={() => setMaking(true)} />
  return (
    <Page title="Templates" actions={create}>
      <Rows
        of={polled}
        none={[
          'No templates yet',
          'Sandboxes start from a template. Build one from a Dockerfile, an image, or a checkpoint of a sandbox.',
        ]}
        label="Templates"
        head={['Name', 'Team', 'Newest version', 'Created', ACTIONS]}
      >
        {templates.map(template => (
          <tr key={template.id}>
            <th scope="row" class="long">
              <a href={`/templates/${template.slug}`}>{template.slug}</a>
            </th>
            <td class="long">{template.team}</td>
            <td class="number">{template.latest_version ?? 'no ready version'}</td>
            <TimeCell at={template.created_at} />
            <td class="row-actions">
              {mayWrite && template.latest_version !== null && (
                <a class="btn small" href={`/sandboxes/new?from=${template.slug}`} aria-label={`New sandbox from ${template.slug}`}>
                  New sandbox
                </a>
              )}
            </td>
          </tr>
        ))}
      </Rows>
      {making && <CreateDialog team={team.slug} onClose={() => setMaking(false)} />}
    </Page>
  )
}

function Steps(props: { steps: Schemas['TemplateVersionBuild']['steps'] }) {
  const { steps } = props
  const over = steps.filter(step => step.state === 'done').length
  return (
    <>
      <progress value={over} max={steps.length} aria-label="Finished steps" />
      <Table label="Steps of the build" head={['Step', 'State', 'Seconds']}>
        {steps.map((step, at) => (
          <tr key={at}>
            <th scope="row" class="long">{step.title}</th>
            <td>{step.cached ? 'cached' : step.state}</td>
            <td class="number">{step.cached || step.seconds === null ? '' : step.seconds.toFixed(1)}</td>
          </tr>
        ))}
      </Table>
    </>
  )
}

function Log(props: { slug: string; version: Version; team: string }) {
  const { slug, version, team } = props
  const read = useRef({ log: '', end: 0 })
  const polled = usePoll(
    async signal => {
      const from = read.current.end
      const answer = await api.get('/v1/templates/{slug}/versions/{version}', {
        path: { slug, version: String(version.version) as never },
        query: { team, log_offset: from },
        signal,
      })
      if (read.current.end === from) read.current = { log: read.current.log + answer.log, end: answer.log_end }
      return { ...answer, log: read.current.log }
    },
    version.state === 'building' ? 1500 : null,
    [slug, version.version, team, version.state],
  )
  return (
    <section class="card" aria-label="Build log">
      <h2>Build log of version {version.version}</h2>
      <Problem error={polled.error} />
      {polled.loading && <Loading />}
      {polled.data && polled.data.steps.length > 0 && <Steps steps={polled.data.steps} />}
      {polled.data && (
        <pre class="code" tabIndex={0}>
          {polled.data.log === '' ? 'No output' : polled.data.log}
        </pre>
      )}
    </section>
  )
}

function VersionDialog(props: { slug: string; team: string; onClose: () => void; onMade: () => void }) {
  const [source, setSource] = useState(FIRST)
  const keyOf = useIdempotencyKey()
  return (
    <FormDialog
      title={`New version of ${props.slug}`}
      action="Build the version"
      onClose={props.onClose}
      submit={async () => {
        const body = { team: props.team, ...bodyOf(source) }
        await api.post('/v1/templates/{slug}/versions', { path: { slug: props.slug }, body, idempotencyKey: keyOf(body) })
        props.onMade()
        props.onClose()
      }}
    >
      <SourceFields team={props.team} source={source} onChange={setSource} />
    </FormDialog>
  )
}

export function TemplatePage(props: { parts: Record<string, string> }) {
  const slug = props.parts['slug'] ?? ''
  const team = useTeam()
  const [shown, setShown] = useState<number | null>(null)
  const [making, setMaking] = useState(false)
  const { busy, error, run } = useAction()
  const path = { slug }
  const query = { team: team.slug }
  const template = usePoll(signal => api.get('/v1/templates/{slug}', { path, query, signal }), 5000, [slug, team.slug])
  const polled = usePoll(signal => api.get('/v1/templates/{slug}/versions', { path, query, signal }), 3000, [slug, team.slug])
  const own = template.data?.team === team.slug
  const mayWrite = useMayWrite() && own
  useTitle(`Template ${slug}`)
  if (template.error instanceof ApiError && template.error.status === 404) {
    return (
      <Empty title="No such template">
        <p>{messageOf(template.error)}</p>
        <a href="/templates">Go to the templates</a>
      </Empty>
    )
  }
  const versions = polled.data?.versions ?? []
  const version = versions.find(one => one.version === shown) ?? versions[0]
  const remove = (): void =>
    ask(`Delete the template ${slug}?`, 'This deletes all its versions. Sandboxes from these versions stay.', 'Delete', async () => {
      await api.delete('/v1/templates/{slug}', { path, query })
      say(`The template ${slug} is deleted.`)
      navigate('/templates')
    })
  const retry = (one: Version): void =>
    void run(async () => {
      const made = await api.post('/v1/templates/{slug}/versions', { path, body: { team: team.slug, retry: one.version } })
      setShown(made.version)
      say(`Version ${made.version} is being built as version ${one.version} was.`)
      polled.refresh()
    })
  /** Lets the template's name mean this version, or again the newest. */
  const setDefault = (one: Version, on: boolean): void =>
    void run(async () => {
      const tag = { slug, tag: 'default' }
      if (on) await api.put('/v1/templates/{slug}/tags/{tag}', { path: tag, body: { team: team.slug, version: one.version } })
      else await api.delete('/v1/templates/{slug}/tags/{tag}', { path: tag, query })
      say(`New sandboxes from ${slug} start from ${on ? `version ${one.version}` : 'its newest version'}.`)
      polled.refresh()
    })
  const removeVersion = (one: Version): void =>
    ask(`Delete version ${one.version}?`, 'You can no longer start new sandboxes from it.', 'Delete', async () => {
      await api.delete('/v1/templates/{slug}/versions/{version}', {
        path: { slug, version: String(one.version) as never },
        query,
      })
      polled.refresh()
    })
  return (
    <>
      <header class="page-head">
        <div>
          <p class="crumbs">
            <a href="/templates">Templates</a>
          </p>
          <h1>{slug}</h1>
          <p class="status muted">{template.data ? `of ${template.data.team}` : ''}</p>
        </div>
        {mayWrite && (
          <div class="actions">
            <Button icon="plus" onClick={() => setMaking(true)}>New version</Button>
            <Button kind="danger" icon="trash" onClick={remove}>
              Delete
            </Button>
          </div>
        )}
      </header>
      <Problem error={template.error ?? polled.error ?? error} />
      {polled.loading && <Loading />}
      {versions.length > 0 && (
        <Table label="Versions" head={['Version', 'State and tags', 'Id', 'Size', 'Created', ACTIONS]}>
          {versions.map(one => (
            <tr key={one.id}>
              <th scope="row" class="number">
                {one.version}
              </th>
              <td>
                <State value={one.state} {...(one.state === 'ready' ? { word: 'ready' } : {})} />{' '}
                <span class="muted">{one.tags.join(', ')}</span>
              </td>
              <td>
                <Id value={one.id} />
              </td>
              <td class="number nowrap">
                {one.runtime_baseline.cpu} vCPU, {one.runtime_baseline.memory_mb} MiB
              </td>
              <TimeCell at={one.created_at} />
              <td class="row-actions">
                <Button small label={`Log of version ${one.version}`} onClick={() => setShown(one.version)}>
                  Log
                </Button>
                {mayWrite && one.state === 'failed' && (
                  <Button small label={`Build version ${one.version} again`} busy={busy} onClick={() => retry(one)}>
                    Build again
                  </Button>
                )}
                {mayWrite && one.tags.includes('default') && (
                  <Button small label={`Use the newest version of ${slug}`} busy={busy} onClick={() => setDefault(one, false)}>
                    Use the newest
                  </Button>
                )}
                {mayWrite && one.state === 'ready' && !one.tags.includes('default') && (
                  <Button small label={`Make version ${one.version} the default`} busy={busy} onClick={() => setDefault(one, true)}>
                    Make default
                  </Button>
                )}
                {mayWrite && (
                  <Button small label={`Delete version ${one.version}`} onClick={() => removeVersion(one)}>
                    Delete
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {version && <Log key={version.id} slug={slug} version={version} team={team.slug} />}
      {making && <VersionDialog slug={slug} team={team.slug} onClose={() => setMaking(false)} onMade={polled.refresh} />}
    </>
  )
}
