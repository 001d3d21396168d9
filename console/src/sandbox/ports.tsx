// SPDX-License-Identifier: GPL-2.0-or-later
import { useState } from 'preact/hooks'
import { atField } from '../lib/changes'
import { api, type Schemas } from '../lib/client'
import { messageOf } from '../lib/errors'
import { usePoll } from '../lib/poll'
import type { TabProps } from '../pages/sandbox'
import { ACTIONS, Button, Check, Copy, Empty, Loading, Problem, State, Table, TextField } from '../parts/basic'
import { FormDialog, ask, say } from '../parts/dialog'

type Port = Schemas['Port']

const LOOK_MS = 4000
const WORDS: Record<Port['gateway_status'], string> = {
  ready: 'a server listens',
  no_listener: 'nothing listens yet',
  loopback_only: 'cannot connect to TLS on the loopback interface',
  blocked: 'public traffic is off',
}

function ExposeDialog(props: { sandbox: TabProps['sandbox']; onClose: () => void; onDone: () => void }) {
  const [port, setPort] = useState('')
  const [open, setOpen] = useState(false)
  const [https, setHttps] = useState(false)
  return (
    <FormDialog
      title="Expose a port"
      action="Expose"
      onClose={props.onClose}
      submit={async () => {
        const path = { id: props.sandbox.id, port: Number(port) }
        const body = { protocol: https ? 'https' : 'http', public: open } as const
        // If every port is exposed, a port has a record before somebody sets it.
        const isNew = !props.sandbox.expose_all_ports
        await api.put('/v1/sandboxes/{id}/ports/{port}', { path, body, isNew }).catch((refusal: unknown) => {
          throw atField(refusal, '/port', 'The list of ports has this port already.')
        })
        props.onDone()
        props.onClose()
      }}
    >
      <TextField label="Port" member="port" name="port" type="number" min={1} max={65535} required autoFocus value={port} onInput={setPort} />
      <Check
        label="Public"
        hint="On: open to everyone with the address. Off: only with a token."
        checked={open}
        onChange={setOpen}
      />
      <Check
        label="TLS inside"
        hint="The server in the sandbox speaks TLS. sandlot accepts any certificate."
        checked={https}
        onChange={setHttps}
      />
    </FormDialog>
  )
}

/** A private preview takes a token once in its address, and keeps one in a cookie. Both open this port only. */
function openPrivate(id: string, { port, url }: Port): void {
  const opened = window.open('about:blank', '_blank')
  api.post('/v1/sandboxes/{id}/sessions', { path: { id }, body: { port } }).then(
    ({ session }) => {
      const address = new URL(url)
      address.searchParams.set('access_token', session.access_token)
      if (opened) {
        opened.opener = null
        opened.location.replace(address.href)
      }
    },
    (error: unknown) => {
      opened?.close()
      say(messageOf(error), true)
    },
  )
}

export function Ports(props: TabProps) {
  const { sandbox, mayWrite } = props
  const [adding, setAdding] = useState(false)
  const path = { id: sandbox.id }
  const ready = sandbox.state === 'ready'
  const polled = usePoll(
    signal => api.get('/v1/sandboxes/{id}/ports', { path, signal }),
    ready ? LOOK_MS : null,
    [sandbox.id, sandbox.state, JSON.stringify(sandbox.exposed_ports)],
  )
  const setPublic = (port: Port, open: boolean): void => {
    api
      .put('/v1/sandboxes/{id}/ports/{port}', {
        path: { ...path, port: port.port },
        body: { protocol: port.protocol, public: open },
      })
      .then(polled.refresh, (error: unknown) => say(messageOf(error), true))
  }
  const withdraw = (port: Port): void =>
    ask(`Withdraw port ${port.port}?`, 'Its preview address then refuses requests.', 'Withdraw', async () => {
      await api.delete('/v1/sandboxes/{id}/ports/{port}', { path: { ...path, port: port.port } })
      polled.refresh()
    })
  const ports = polled.data?.ports ?? []
  const add = mayWrite && ready && (
    <Button icon="plus" onClick={() => setAdding(true)}>
      Expose a port
    </Button>
  )
  return (
    <section class="card" aria-label="Ports">
      <div class="card-head">
        <h2>Ports</h2>
        {add}
      </div>
      {ready && <Problem error={polled.error} />}
      {!ready && <p class="note">Previews answer while the sandbox runs.</p>}
      {polled.loading && ready && <Loading />}
      {sandbox.expose_all_ports && <p class="note">Every port is exposed, and public if it is not private in this list.</p>}
      {sandbox.mask_request_host && (
        <p class="note">
          Servers get the Host header <code>{sandbox.mask_request_host}</code>.
        </p>
      )}
      {!polled.loading && ports.length === 0 && ready && !polled.error && !sandbox.expose_all_ports && (
        <Empty title="No port is exposed">
          <p>Start a server in the sandbox and expose its port. The port then has its own HTTPS address.</p>
        </Empty>
      )}
      {ports.length > 0 && (
        <Table label="Ports" head={['Port', 'Preview', 'Status', 'Public', ACTIONS]}>
          {ports.map(port => (
            <tr key={port.port}>
              <th scope="row" class="number">
                {port.port}
                {port.protocol === 'https' && ' (TLS)'}
              </th>
              <td>
                {port.public ? (
                  <a href={port.url} target="_blank" rel="noopener noreferrer">
                    {port.host}
                  </a>
                ) : (
                  <code class="long">{port.host}</code>
                )}
              </td>
              <td class="nowrap">
                <State value={port.gateway_status} word={WORDS[port.gateway_status]} />
              </td>
              <td>
                <Check
                  label={<span class="unseen">Port {port.port} is public</span>}
                  checked={port.public}
                  disabled={!mayWrite}
                  onChange={open => setPublic(port, open)}
                />
              </td>
              <td class="row-actions">
                <Copy text={port.url} what={`the address of port ${port.port}`} />
                {!port.public && mayWrite && (
                  <Button small onClick={() => openPrivate(sandbox.id, port)}>
                    Open
                  </Button>
                )}
                {mayWrite && (
                  <Button small label={`Withdraw port ${port.port}`} onClick={() => withdraw(port)}>
                    Withdraw
                  </Button>
                )}
              </td>
            </tr>
          ))}
        </Table>
      )}
      {adding && <ExposeDialog sandbox={sandbox} onClose={() => setAdding(false)} onDone={polled.refresh} />}
    </section>
  )
}
