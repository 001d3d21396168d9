// SPDX-License-Identifier: GPL-2.0-or-later
// What the sandbox may reach: the policy, what it says about a host, and what was refused.
import { useEffect, useState } from 'preact/hooks'
import { changeRecord, type Shown } from '../lib/changes'
import { ApiError, api, type Schemas } from '../lib/client'
import { fieldOf, isAbort, messageOf, sentence } from '../lib/errors'
import { formatNumber } from '../lib/format'
import { usePoll } from '../lib/poll'
import type { TabProps } from '../pages/sandbox'
import { ACTIONS, Button, Empty, Loading, Problem, State, Table, TextField, Time, TimeCell } from '../parts/basic'
import { say, useAction, useRefusedForm } from '../parts/dialog'
import { Rows } from '../parts/rows'
import { PolicyFields, entriesOf, policyOf, rebased, requestOf, shownPolicy, withLine, type Policy, type PolicyEdit } from './policy'

type Denial = Schemas['Denial']
type NetworkPolicy = Schemas['Network']

/** The event network.denied says once a minute that there were some, and not which: the list itself is asked for. */
const DENIALS_MS = 2500
const TYPING_MS = 300

const VERDICTS = { allow: 'allowed', deny: 'denied', ask: 'asks' }

/** host, host:port or [v6]:port; 443 when none is said. */
export function hostAndPort(text: string): { host: string; port: number } | null {
  const found = /^\[([^\]]+)\](?::(\d+))?$|^([^\s:]+)(?::(\d+))?$|^([0-9a-fA-F:]+:[0-9a-fA-F:.]*)$/.exec(text.trim())
  if (!found) return null
  const host = found[1] ?? found[3] ?? found[5] ?? ''
  const port = Number(found[2] ?? found[4] ?? '443')
  return host !== '' && port >= 1 && port <= 65535 ? { host, port } : null
}

/** The entry that would have let this through. */
export function entryFor(denial: Denial): string | null {
  if (denial.kind === 'limit' || denial.kind === 'proxy') return null
  if (denial.kind === 'name' || denial.port === null) return denial.target
  return denial.target.includes(':') ? `[${denial.target}]:${denial.port}` : `${denial.target}:${denial.port}`
}

/** As one types, into the policy or here. draft: what is not saved yet; null: the saved one. */
function Verdict(props: { id: string; revision: string; draft: Policy | null }) {
  const [text, setText] = useState('')
  const [verdict, setVerdict] = useState<Schemas['NetworkVerdict'] | null>(null)
  const [error, setError] = useState<unknown>(null)
  const drafted = JSON.stringify(props.draft)
  useEffect(() => {
    const target = hostAndPort(text)
    if (!target) {
      setVerdict(null)
      setError(null)
      return
    }
    const body = { ...target, ...(props.draft ? { policy: requestOf(props.draft) } : {}) }
    const abort = new AbortController()
    const timer = window.setTimeout(() => {
      api
        .post('/v1/sandboxes/{id}/network/check', { path: { id: props.id }, body, signal: abort.signal })
        .then(answer => {
          setVerdict(answer)
          setError(null)
        })
        .catch((failure: unknown) => {
          if (isAbort(failure)) return
          setVerdict(null)
          setError(props.draft ? withLine(failure, props.draft) : failure)
        })
    }, TYPING_MS)
    return () => {
      window.clearTimeout(timer)
      abort.abort()
    }
  }, [text, props.id, props.revision, drafted])
  return (
    <section class="card" aria-label="Check">
      <h2>Can the sandbox connect to it?</h2>
      <TextField
        label="Host and port"
        mono
        value={text}
        onInput={setText}
        placeholder="api.example.com:443"
        hint="This checks the policy, also if you have not saved it. It sends no packet. Default port: 443."
      />
      <div aria-live="polite" class="verdict">
        {error !== null && <p class="field-error">{messageOf(error)}</p>}
        {verdict && (
          <p>
            <State value={verdict.verdict} word={VERDICTS[verdict.verdict]} />{' '}
            {sentence(verdict.message)}
            {props.draft && <span class="muted"> With the policy that is not saved yet.</span>}
          </p>
        )}
      </div>
    </section>
  )
}

function Denials(props: {
  id: string
  mayWrite: boolean
  allowed: Set<string>
  busy: boolean
  allow: (entry: string) => void
  running: boolean
}) {
  const polled = usePoll(
    signal => api.get('/v1/sandboxes/{id}/network/denials', { path: { id: props.id }, signal }),
    props.running ? DENIALS_MS : null,
    [props.id, props.running],
  )
  const denials = polled.data?.denials ?? []
  return (
    <section class="card" aria-label="Denials">
      <h2>Refused connections</h2>
      <Rows
        of={polled}
        none={['No refused connections', 'Each connection that the policy refuses appears here.']}
        label="Denials"
        dense
        head={['Target', 'Kind', 'Count', 'Last', ACTIONS]}
      >
        {denials.map(denial => {
          const entry = entryFor(denial)
          return (
            <tr key={`${denial.kind} ${denial.target} ${denial.port} ${denial.protocol}`}>
              <th scope="row">
                <code class="long">
                  {denial.target}
                  {denial.port === null ? '' : `:${denial.port}`}
                </code>
              </th>
              <td>
                {denial.kind}
                {denial.protocol ? `, ${denial.protocol}` : ''}
              </td>
              <td class="number">{formatNumber(denial.count)}</td>
              <TimeCell at={denial.at} />
              <td class="row-actions">
                {props.mayWrite && entry && !props.allowed.has(entry) && (
                  <Button small label={`Allow ${entry}`} disabled={props.busy} onClick={() => props.allow(entry)}>
                    Allow this
                  </Button>
                )}
                {entry && props.allowed.has(entry) && <span class="muted">allowed since then</span>}
              </td>
            </tr>
          )
        })}
      </Rows>
    </section>
  )
}

const ANSWERS: { label: string; body: Schemas['AnswerApproval'] }[] = [
  { label: 'Once', body: { answer: 'once' } },
  { label: 'An hour', body: { answer: 'minutes', minutes: 60 } },
  { label: 'Always', body: { answer: 'always' } },
  { label: 'Never', body: { answer: 'never' } },
]

/** The destinations that the sandbox asks for. */
function Approvals(props: { id: string; mayWrite: boolean; answered: () => void }) {
  const polled = usePoll(
    signal => api.get('/v1/sandboxes/{id}/approvals', { path: { id: props.id }, signal }),
    DENIALS_MS,
    [props.id],
  )
  const { busy, error, run } = useAction()
  const approvals = polled.data?.approvals ?? []
  const answer = (approval: string, body: Schemas['AnswerApproval']): void =>
    void run(async () => {
      const answered = await api.post('/v1/sandboxes/{id}/approvals/{approval}', { path: { id: props.id, approval }, body })
      say(`${answered.target} is ${answered.state}.`)
      polled.refresh()
      props.answered()
    })
  return (
    <section class="card" aria-label="Approvals">
      <h2>Destinations that wait for your answer</h2>
      <Problem error={polled.error ?? error} />
      {polled.loading && <Loading />}
      {!polled.loading && approvals.length === 0 && !polled.error && (
        <Empty title="No approvals are waiting">
          <p>Each new destination that the sandbox tries appears here.</p>
        </Empty>
      )}
      {approvals.length > 0 && (
        <Table
          label="Approvals"
          dense
          head={['Target', 'State', 'Asked', <span class="unseen">Answers</span>]}
        >
          {approvals.map(approval => (
            <tr key={approval.id}>
              <th scope="row">
                <code class="long">{approval.target}</code>
              </th>
              <td>
                <State value={approval.state} />
                {approval.until && (
                  <>
                    {' '}
                    until <Time at={approval.until} />
                  </>
                )}
              </td>
              <TimeCell at={approval.asked_at} />
              <td class="row-actions">
                {props.mayWrite &&
                  ANSWERS.map(({ label, body }) => (
                    <Button
                      key={label}
                      small
                      disabled={busy}
                      label={`${label}: ${approval.target}`}
                      onClick={() => answer(approval.id, body)}
                    >
                      {label}
                    </Button>
                  ))}
              </td>
            </tr>
          ))}
        </Table>
      )}
    </section>
  )
}

/** The edit outlives the tab. */
export type EditState = [edit: PolicyEdit | null, setEdit: (next: (before: PolicyEdit | null) => PolicyEdit | null) => void]

export function Network(props: TabProps & { edit: EditState }) {
  const { sandbox, mayWrite } = props
  const [edit, setEdit] = props.edit
  const path = { id: sandbox.id }
  const polled = usePoll<NetworkPolicy>(
    signal => api.get('/v1/sandboxes/{id}/network', { path, signal }),
    5000,
    [sandbox.id],
  )
  const { busy, error, run, clear } = useAction()
  const form = useRefusedForm(error)
  const stored = polled.data
  if (!stored) return polled.error ? <Problem error={polled.error} /> : <Loading />
  const current = policyOf(stored)
  const policy = edit ? { ...edit.policy, kept: current.kept } : current
  const refused = error instanceof ApiError && error.field ? { field: fieldOf(error.field), text: messageOf(error) } : null

  /** after: what stays of the edit. */
  const save = (
    loaded: NetworkPolicy,
    shown: (network: NetworkPolicy) => Shown,
    wantedOf: (stored: Policy) => Policy,
    after: (edit: PolicyEdit, answer: NetworkPolicy) => PolicyEdit | null,
  ): Promise<void> =>
    run(async () => {
      const answer = await changeRecord({
        loaded,
        shown,
        read: () => api.get('/v1/sandboxes/{id}/network', { path }),
        write: record => {
          const wanted = wantedOf(policyOf(record))
          const options = { path, body: requestOf(wanted), ifMatch: record }
          return api.put('/v1/sandboxes/{id}/network', options).catch((refusal: unknown) => {
            throw withLine(refusal, wanted)
          })
        },
        load: newer => setEdit(before => before && rebased(before, newer)),
      })
      polled.put(answer)
      setEdit(before => before && after(before, answer))
      say(answer.status === 'applied' ? 'The policy is applied.' : 'The policy is saved, and will be applied.')
    })
  /** The user may have typed more while the policy was sent. */
  const saveEdit = ({ loaded, policy: saved }: PolicyEdit): Promise<void> =>
    save(
      loaded,
      shownPolicy,
      ({ kept }) => ({ ...saved, kept }),
      (now, answer) => (now.policy === saved ? null : { loaded: answer, policy: now.policy }),
    )
  const allow = (entry: string): void => {
    const withEntry = (to: Policy): Policy => ({ ...to, allow: [...new Set([...entriesOf(to.allow), entry])].join('\n') })
    void save(stored, () => ({}), withEntry, rebased)
  }
  return (
    <div class="columns">
      <form
        ref={form}
        class="card"
        aria-label="Policy"
        onSubmit={event => {
          event.preventDefault()
          if (edit) void saveEdit(edit)
        }}
      >
        <div class="card-head">
          <h2>Policy</h2>
          <State value={stored.status} />
        </div>
        {stored.status_reason && <p class="note">{sentence(stored.status_reason)}</p>}
        <PolicyFields
          policy={policy}
          onChange={next => setEdit(before => ({ loaded: before?.loaded ?? stored, policy: next }))}
          disabled={!mayWrite}
          refused={refused}
        />
        <Problem error={error} onLoaded={clear} />
        {mayWrite && (
          <div class="actions end">
            <Button disabled={edit === null} onClick={() => setEdit(() => null)}>
              Undo
            </Button>
            <Button type="submit" kind="primary" busy={busy} disabled={edit === null}>
              Save the policy
            </Button>
          </div>
        )}
      </form>
      <div>
        <Verdict id={sandbox.id} revision={JSON.stringify(stored)} draft={edit && policy} />
        {stored.ask && <Approvals id={sandbox.id} mayWrite={mayWrite} answered={polled.refresh} />}
        <Denials
          id={sandbox.id}
          mayWrite={mayWrite}
          allowed={new Set(stored.allow_out)}
          busy={busy}
          allow={allow}
          running={sandbox.state !== 'stopped'}
        />
      </div>
    </div>
  )
}
