// SPDX-License-Identifier: GPL-2.0-or-later
// A table of loaded rows, or the text that the page shows instead while there are none.
import type { ComponentChildren } from 'preact'
import { useEffect, useRef } from 'preact/hooks'
import { Button, Empty, Loading, Problem, Table, type SortHead } from './basic'

interface Loaded {
  error: unknown
  loading: boolean
  more?: boolean
  loadMore?: () => void
}

/** The end of a list that has more: loads it when it comes into sight, or when asked. */
function More(props: { loadMore: () => void }) {
  const end = useRef<HTMLDivElement>(null)
  useEffect(() => {
    const element = end.current
    if (!element) return
    const watcher = new IntersectionObserver(
      entries => {
        if (entries.some(entry => entry.isIntersecting)) props.loadMore()
      },
      { rootMargin: '600px' },
    )
    watcher.observe(element)
    return () => watcher.disconnect()
  })
  return (
    <div class="more" ref={end}>
      <Button onClick={props.loadMore}>Show more</Button>
    </div>
  )
}

function None(props: { of: ComponentChildren | [title: string, text: string] }) {
  if (typeof props.of === 'string') return <p class="muted">{props.of}</p>
  if (!Array.isArray(props.of)) return <>{props.of}</>
  const [title, text] = props.of
  return (
    <Empty title={String(title)}>
      <p>{text}</p>
    </Empty>
  )
}

export function Rows(props: {
  of: Loaded
  /** The text that the page shows if there are no rows; a pair: a heading and a text. */
  none: ComponentChildren | [title: string, text: string]
  label: string
  head: (ComponentChildren | SortHead)[]
  dense?: boolean
  children: ComponentChildren[]
}) {
  const { of, none } = props
  const empty = props.children.length === 0
  return (
    <>
      <Problem error={of.error} />
      {of.loading && <Loading />}
      {empty && !of.loading && !of.error && !of.more && <None of={none} />}
      {!empty && (
        <Table label={props.label} head={props.head} {...(props.dense ? { dense: true } : {})}>
          {props.children}
        </Table>
      )}
      {of.more && of.loadMore && <More loadMore={of.loadMore} />}
    </>
  )
}
