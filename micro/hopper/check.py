#!/usr/bin/env python3
"""Simulates the microbenchmarks of Hopper's asynchronous units and compares them with an H200, row by row.

usage: check.py [hopper] [async] [remote] [--orrery build/orrery] [--rows] [--gpu h200] [--part wbc|atrgs]

Needs nvcc. The program is run under `orrery app` with the cycle model; what it would have read from the SM's clock is in the
report (clock_reads), because execution goes ahead of time. Here the launches are gone through in the order of the program's main(),
and each row is worked out as it does. Prints the mean of |simulated / measured - 1| for each group of rows; --rows prints them all. --part: products (w), copies (b),
clusters (c); of remote: those of remote.cu, which simulates a few of its points.
"""
import csv,json,os,subprocess,sys,tempfile
here=os.path.dirname(os.path.abspath(__file__))
root=os.path.dirname(os.path.dirname(here))
def option(name,value):
    if name not in sys.argv: return value
    at=sys.argv.index(name); value=sys.argv[at+1]; del sys.argv[at:at+2]; return value
orrery=option('--orrery',os.path.join(root,'build','orrery')); gpu=option('--gpu','h200'); part=option('--part','wbcatrgs')
rows_too='--rows' in sys.argv
what=[a for a in sys.argv[1:] if a in('hopper','async','remote')] or ['hopper','async','remote']

class launches:
    def __init__(self,report): self.all=report['launches']; self.at=0
    def next(self,name):
        l=self.all[self.at]; self.at+=1
        if l['kernel']!=name: raise SystemExit('launch %d is %s, not %s: the program and check.py are not of one order'%(self.at,l['kernel'],name))
        reads={}
        for block,warp,cycle in l.get('clock_reads',[]): reads.setdefault((block,warp),[]).append(cycle)
        return reads
def first(reads,block=0): return min((w,t) for (b,w),t in reads.items() if b==block)[1]
def mean(values): values=list(values); return sum(values)/len(values)

def hopper(run,out):
    if 'w' in part: products(run,out)
    if 'b' in part: copies(run,out)
    if 'c' in part: clusters(run,out)
def products(run,out):
    types={'f16':('ss','rs'),'bf16':('ss',),'tf32':('ss','rs'),'e4m3':('ss','rs'),'s8':('ss',),'f16h':('ss',)}
    for t,sources in types.items():
        for n in ([8,16,32,64,96,128,192,256] if t in('f16','e4m3') else [8,64,128,256]):
            for a in sources:
                def time():
                    r=run.next('wg_%s_%s_%d'%(t,a,n)).values()
                    return max(x[-1] for x in r)-min(x[0] for x in r)
                one,two,five,ten=time(),time(),time(),time()
                out('wgmma.first','type=%s a=%s n=%d groups=1'%(t,a,n),one); out('wgmma.second','type=%s a=%s n=%d groups=1'%(t,a,n),two-one)
                out('wgmma.each','type=%s a=%s n=%d groups=1'%(t,a,n),(ten-five)/512)
                for g in (2,3): x=time(); out('wgmma.each','type=%s a=%s n=%d groups=%d'%(t,a,n,g),(time()-x)/512)
def copies(run,out):
    t=first(run.next('plain_load')); out('load.l2','bytes=4',t[-1]-t[-2])
    for b in (16,128,512,1024,2048,4096,8192,16384,32768):
        for n in (1,2,4,8):
            if b*n>128<<10: continue
            for grid in (1,132):
                r=run.next('bulk_load').values(); point='bytes=%d copies=%d blocks=%d'%(b,n,grid)
                out('bulk.issue',point,mean(x[-2]-x[-3] for x in r)); out('bulk.load',point,mean(x[-1]-x[-3] for x in r))
    for b in (16,1024,8192): t=first(run.next('bulk_load')); out('bulk.load_memory','bytes=%d'%b,t[-1]-t[-3])
    for red in ('store','reduce'):
        for b in (16,1024,4096,16384):
            for n in (1,4):
                for grid in (1,132):
                    r=run.next('bulk_store').values(); point='bytes=%d copies=%d blocks=%d'%(b,n,grid)
                    out('bulk.%s_read'%red,point,mean(x[-2]-x[-3] for x in r)); out('bulk.%s'%red,point,mean(x[-1]-x[-3] for x in r))
def clusters(run,out):
    for size in (1,2,4,8,16):
        for threads in (32,128,512): t=first(run.next('cluster_barrier')); out('cluster.barrier','blocks=%d threads=%d'%(size,threads),(t[1]-t[0])/200)
    for size in (2,8,16):
        for to in range(0,size,3 if size>2 else 1):
            t=first(run.next('remote_load')); out('cluster.load','blocks=%d rank=%d'%(size,to),(t[1]-t[0])/256)
            if to: t=first(run.next('ping')); out('cluster.ping','blocks=%d rank=%d'%(size,to),(t[1]-t[0])/256)
    for size in (2,8):
        for threads in (32,128,512,1024):
            for to in (0,1): t=first(run.next('remote_copy'),1); out('cluster.copy','blocks=%d rank=%d threads=%d'%(size,to,threads),(t[1]-t[0])/256)

def asynchronous(run,out):
    if 'w' in part: issued(run,out)
    if 'b' in part: boxes_of(run,out)
    if 'c' in part: far(run,out)
def issued(run,out):
    for n in (64,256):
        for a in ('ss','rs'):
            for p in (1,2,4,8,16):
                t=first(run.next('issue_%s_%d_%d'%(a,n,p))); point='a=%s n=%d products=%d'%(a,n,p)
                out('wgmma.issue',point,t[-2]-t[-3]); out('wgmma.done',point,t[-1]-t[-3])
    for n in (64,128,256):
        for warps in (0,4,8,16):
            r=run.next('beside_%d'%n); t=r[(0,0)]; out('wgmma.beside','n=%d warps=%d'%(n,warps),(t[-1]-t[0])/512)
            if warps: t=r[(0,4)]; out('shared.beside','n=%d warps=%d'%(n,warps),(t[-1]-t[0])/(400000//warps//8))
def boxes_of(run,out):
    boxes=[(1,1024,1,0),(2,32,64,0),(2,64,64,2),(2,128,8,3),(2,128,64,0),(2,128,64,3),(2,128,128,3),(2,128,256,3),(2,256,64,0),(2,1024,16,0),(3,128,64,3),(5,128,64,3)]
    for rank,row,rows,swizzle in boxes:
        size=row*rows
        for grid in (1,132):
            for depth in (1,2,4,8):
                for far in (0,1):
                    if size*depth>160<<10 or (far and (depth==2 or rank>2)): continue
                    width=row if rank==1 else row*4; boxes_=32 if grid*32*rows*width<=128<<20 else 8
                    for r in range(far,2): reads=run.next('tile_load')
                    t=list(reads.values()); point='rank=%d row=%d rows=%d swizzle=%d depth=%d blocks=%d from=%s'%(rank,row,rows,swizzle,depth,grid,'memory' if far else 'l2')
                    out('tile.first',point,mean(x[1]-x[0] for x in t))
                    if depth==1: out('tile.second',point,mean(x[2]-x[1] for x in t))
                    out('tile.each',point,mean(x[-1]-x[0] for x in t)/boxes_)
    for size in (1,2,4,8):
        for rows in (64,128):
            for many in (0,1):
                for r in range(2): t=run.next('tile_cast').values()
                out('cast.each','size=%d row=128 rows=%d depth=4 blocks=%d'%(size,rows,128 if many else size),mean(x[-1]-x[0] for x in t)/32)
    for red in ('store','reduce'):
        for rows in (8,64,128):
            for grid in (1,132):
                for r in range(2): t=run.next('tile_store').values()
                out('tile.%s'%red,'row=128 rows=%d blocks=%d'%(rows,grid),mean(x[1]-x[0] for x in t)/32); out('tile.%s_done'%red,'row=128 rows=%d boxes=32 blocks=%d'%(rows,grid),mean(x[-1]-x[0] for x in t))
def far(run,out):
    for st in ('load','store'):
        for size in (2,4,8):
            for threads in (128,512,1024):
                for away in (0,1):
                    for many in (0,1):
                        t=run.next('far_copy'); blocks=128 if many else size; d=[]
                        for b in range(blocks):
                            mine=[x for (k,w),x in t.items() if k==b]; d.append(max(x[-1] for x in mine)-min(x[0] for x in mine))
                        out('far.%s'%st,'size=%d threads=%d away=%d blocks=%d'%(size,threads,away,blocks),mean(d)/256)
    for how in ('arrive','st.async'):
        for size in (2,8): t=first(run.next('far_ping')); out('far.ping','size=%d by=%s'%(size,how),(t[-1]-t[0])/256)
    for size in (1,2,8,16):
        for threads in (32,128,512): t=first(run.next('cluster_relaxed')); out('cluster.relaxed','blocks=%d threads=%d'%(size,threads),(t[-1]-t[0])/200)
    r=run.next('maxreg'); out('setmaxnreg.dec','warps=4',r[(0,0)][-1]-r[(0,0)][0]); out('setmaxnreg.inc','warps=4',r[(0,4)][-1]-r[(0,4)][0])

STEPS='fence arrive waited load_first load load load_first2 load2 load_prefetched bulk_first bulk give_first give_first_read give_first_done give give_read give_done give_prefetched give_prefetched_read give_prefetched_done reduce reduce_read reduce_done four_issue four_wait'.split()
def remote(run,out): # as main() with `few`
    if 't' in part:
        for far in ('l2','memory'):
            for rows in (8,64,128):
                for again in range(1 if far=='memory' else 2): t=list(run.next('steps').values())
                if far=='l2': # nothing is flushed here
                    for k,row in enumerate(('step.cold','step')):
                        for i,name in enumerate(STEPS): out(row,'n=%d %s rows=%d blocks=8 from=l2'%(i,name,rows),mean(x[26*k+i+1]-x[26*k+i] for x in t))
    if 'r' in part:
        for cast in (0,1):
            for how in ('release','relaxed'):
                for shift in (0,1,2):
                    for rows in (64,128):
                        r=run.next('ring'); out('ring.each','cast=%d %s stages=%d rows=%d blocks=2'%(cast,how,1<<shift,rows),mean(x[-1]-x[0] for (b,w),x in r.items() if w==1)/64)
    if 'g' in part:
        for kind in ('plain','generic'):
            for op in ('store','load'):
                for threads in (32,128,512):
                    d=[first(run.next('_Z7genericILi%dEEvPyPjjj'%(kind=='generic'))) for twice in (0,1)]
                    out('shared.%s'%kind,'%s threads=%d'%(op,threads),((d[1][-1]-d[1][0])-(d[0][-1]-d[0][0]))/128)
    if 'a' in part:
        for op,name in ((0,'far.red'),(1,'far.atom'),(3,'far.store4'),(4,'far.chain')):
            for size in (2,8):
                for threads in (32,512):
                    for what in ('own','one','apart','spread','any'):
                        for away in (0,1,2):
                            for step in (2,8,32):
                                if (what!='apart' and step!=2) or (what in('spread','any') and away) or (away==2 and (size==2 or what!='own')) or (op>1 and what=='apart' and step!=8): continue
                                d=[]
                                for twice in (0,1):
                                    r=run.next('_Z3farILi%dEEvPyjjjjj'%op); d.append(mean(r[(b,0)][-1]-r[(b,0)][0] for b in range(size)))
                                point='what=%s away=%d step=%d size=%d threads=%d blocks=%d'%(what,away,step,size,threads,size)
                                out(name+'.each',point,(d[1]-d[0])/64); out(name+'.first',point,d[0])

def check(name,rows_of,tmp):
    measured={(r['name'],r['point']):float(r['value']) for r in csv.DictReader(open(os.path.join(root,'hardware',gpu,'hopper_%s.csv'%('micro' if name=='hopper' else name))))}
    source=os.path.join(tmp,name+'.cu'); program=os.path.join(tmp,name); report=os.path.join(tmp,name+'.json')
    if name=='remote': source=os.path.join(here,'remote.cu')
    else:
        with open(source,'w') as f: subprocess.run([sys.executable,os.path.join(here,{'hopper':'gen.py','async':'async.py'}[name])],stdout=f,check=True)
    subprocess.run(['nvcc','-O1','-std=c++17','-cudart','shared','-gencode','arch=compute_90a,code=sm_90a','-o',program,source],check=True,stderr=subprocess.DEVNULL)
    subprocess.run([orrery,'app','--gpu',gpu,'--model','cycle','--json','-q','-o',report,program,'few' if name=='remote' else 'once',part],stdout=subprocess.DEVNULL,check=True)
    groups={}
    def out(row,point,value):
        real=measured.get((row,point))
        if not real: return
        groups.setdefault(row,[]).append(value/real-1)
        if rows_too: print('%-16s %-70s %10.1f %10.1f %+7.1f %%'%(row,point,real,value,100*(value/real-1)))
    try: rows_of(launches(json.load(open(report))),out)
    except (IndexError,KeyError) as e: print('stopped: %r'%e)
    for row,errors in groups.items(): print('%-18s %4d rows, mean error %6.1f %%, bias %+6.1f %%'%(row,len(errors),100*mean(abs(e) for e in errors),100*mean(errors)))
with tempfile.TemporaryDirectory() as tmp:
    for name in what: check(name,{'hopper':hopper,'async':asynchronous,'remote':remote}[name],tmp)
