<?php

// SPDX-License-Identifier: GPL-2.0-or-later

declare(strict_types=1);

namespace Sandlot\Volume;

use Psr\Http\Message\StreamInterface;
use Sandlot\Http\Api;
use Sandlot\Model\MakeVolumeDirectory;
use Sandlot\Model\MoveVolumePath;
use Sandlot\Model\Operation;
use Sandlot\Model\UpdateVolumePath;
use Sandlot\Model\VolumeDirectoryEntry;
use Sandlot\Model\VolumeEntry;

/**
 * Files of a volume, without a sandbox. Paths are absolute in the volume. While a running sandbox mounts the
 * volume, changes throw a VolumeAttachedException.
 */
final class VolumeFiles
{
    /** @internal */
    public function __construct(private readonly Api $api, private readonly string $volumeId)
    {
    }

    /**
     * @param string|resource|StreamInterface $content of any size
     * @param string|null $mode octal, such as 0644
     */
    public function write(
        string $path,
        mixed $content,
        ?string $mode = null,
        ?int $uid = null,
        ?int $gid = null,
    ): VolumeEntry {
        $query = ['path' => $path, 'mode' => $mode, 'uid' => $uid, 'gid' => $gid];
        return VolumeEntry::read($this->api->upload(Operation::WriteVolumeFile, $this->path(), $query, $content));
    }

    public function read(string $path): string
    {
        return $this->open($path)->getContents();
    }

    /** Opens a file as a stream. */
    public function open(string $path): StreamInterface
    {
        return $this->api->download(Operation::ReadVolumeFile, $this->path(), ['path' => $path]);
    }

    /** @return \Generator<int, VolumeDirectoryEntry> in the order of the file system */
    public function list(string $path = '/', int $pageSize = 1000): \Generator
    {
        $query = ['path' => $path, 'limit' => $pageSize];
        $read = VolumeDirectoryEntry::read(...);
        return $this->api->pages(Operation::ListVolumeDirectory, $this->path(), $query, 'entries', $read);
    }

    /** @return list<VolumeDirectoryEntry> with what is below to that depth; names are paths from there */
    public function tree(string $path = '/', int $depth = 64): array
    {
        $query = ['path' => $path, 'depth' => $depth];
        $read = VolumeDirectoryEntry::read(...);
        return iterator_to_array(
            $this->api->pages(Operation::ListVolumeDirectory, $this->path(), $query, 'entries', $read),
            false,
        );
    }

    /**
     * Changes owner or mode; for a link, of the link itself.
     *
     * @param string|null $mode octal, such as 0644
     */
    public function change(string $path, ?string $mode = null, ?int $uid = null, ?int $gid = null): VolumeEntry
    {
        $wish = new UpdateVolumePath(path: $path, mode: $mode, uid: $uid, gid: $gid);
        return VolumeEntry::read($this->api->call(Operation::UpdateVolumePath, $this->path(), body: $wish));
    }

    /** Returns the entry of a path; for a link, of the link itself. */
    public function stat(string $path): VolumeEntry
    {
        return VolumeEntry::read($this->api->call(Operation::ShowVolumePath, $this->path(), ['path' => $path]));
    }

    public function makeDirectory(
        string $path,
        ?string $mode = null,
        ?int $uid = null,
        ?int $gid = null,
    ): VolumeEntry {
        $wish = new MakeVolumeDirectory(path: $path, mode: $mode, uid: $uid, gid: $gid);
        return VolumeEntry::read($this->api->call(Operation::MakeVolumeDirectory, $this->path(), body: $wish));
    }

    /** Moves a file or directory. Does not replace an existing one. */
    public function move(string $from, string $to): VolumeEntry
    {
        $wish = new MoveVolumePath(from: $from, to: $to);
        return VolumeEntry::read($this->api->call(Operation::MoveVolumePath, $this->path(), body: $wish));
    }

    public function remove(string $path, bool $recursive = false): void
    {
        $this->api->call(Operation::RemoveVolumePath, $this->path(), ['path' => $path, 'recursive' => $recursive]);
    }

    /** @return array<string, string> */
    private function path(): array
    {
        return ['id' => $this->volumeId];
    }
}
